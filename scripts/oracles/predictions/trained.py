"""trained.py - record --model, against the same models that PyTorch trains.

    PYTHONPATH=TRANSFORMERS torch-run VERSION trained.py FRAGSIM FOLDER [NAME...]

Requires ../../torch-run, and transformers in TRANSFORMERS, which is the folder of
pip install --target TRANSFORMERS transformers. Each of MODELS, of a small random configuration, is
trained for three steps on the fake runtime with expandable segments, and recorded on fake tensors. Prints the
peaks of requested and reserved bytes of both, of all without names. FOLDER gets the recordings.
"""
import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / 'python'))
os.environ['PYTORCH_ALLOC_CONF'] = os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'

import torch  # noqa: E402
from fragsim import models  # noqa: E402

WORDS = {'vocab_size': 2000, 'hidden_size': 256, 'num_hidden_layers': 4, 'num_attention_heads': 8,
         'intermediate_size': 1024, 'max_position_embeddings': 1024}
SHARED = {**WORDS, 'num_key_value_heads': 2}
GPT = {'vocab_size': 2000, 'n_embd': 256, 'n_layer': 4, 'n_head': 8, 'n_positions': 1024}
# what differs from the default configuration of each model
MODELS: dict[str, dict] = {
    'gpt2': GPT, 'gpt_neo': {'vocab_size': 2000, 'hidden_size': 256, 'num_layers': 4, 'num_heads': 8,
                             'attention_types': [[['global', 'local'], 2]]},
    'gpt_neox': WORDS, 'gptj': {**GPT, 'rotary_dim': 32},
    'bloom': {'vocab_size': 2000, 'hidden_size': 256, 'n_layer': 4, 'n_head': 8},
    'opt': {**WORDS, 'ffn_dim': 1024, 'word_embed_proj_dim': 256}, 'llama': SHARED, 'qwen2': SHARED,
    'mistral': SHARED, 'phi': WORDS, 'gemma': {**SHARED, 'head_dim': 32}, 'olmo2': SHARED, 'stablelm': SHARED,
    'falcon': WORDS, 'bert': WORDS, 'roberta': {**WORDS, 'max_position_embeddings': 1026},
    'vit': {**WORDS, 'image_size': 224}, 'convnext': {'image_size': 224},
}


def forked(work):
    """What work() returns in a process of its own, as JSON; its error is a text."""
    source, target = os.pipe()
    if not os.fork():
        try:
            found = work()
        except BaseException as error:  # the other models are still compared
            found = f'{type(error).__name__}: {error}'[:200]
        os.write(target, json.dumps(found).encode())
        os._exit(0)
    os.close(target)
    with os.fdopen(source) as file:
        found = json.load(file)
    os.wait()
    return found


def train(config: Path, dtype: str, folder: Path) -> dict[str, int]:
    torch.backends.cudnn.enabled = False
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        models.main(['--model', str(config), '--batch', '8', '--length', '512', '--dtype', dtype, '--device', 'cuda',
                     '-o', str(folder / f'{config.stem}-{dtype}.pickle')])
    return json.loads(out.getvalue())


def record(config: Path, dtype: str, folder: Path, program: str) -> dict[str, int]:
    path = folder / f'{config.stem}-{dtype}.ndjson'
    models.main(['--model', str(config), '--batch', '8', '--length', '512', '--dtype', dtype, '-o', str(path)])
    done = subprocess.run([program, 'run', '-q', '--json', '-', '--device-bytes', '0', '--alloc-conf',
                           'expandable_segments:True', path], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)['runs'][0]['peak']


def main() -> None:
    program, folder = sys.argv[1], Path(sys.argv[2])
    os.environ['FRAGSIM'] = program
    print(f'PyTorch {torch.__version__}, transformers {models.transformers.__version__}: MiB recorded, of the program')
    for name in sys.argv[3:] or MODELS:
        config = folder / f'{name}.json'
        config.write_text(json.dumps({'model_type': name, **MODELS[name]}))
        for dtype in ('fp32', 'bf16'):
            said = forked(lambda: record(config, dtype, folder, program))
            real = forked(lambda: train(config, dtype, folder))
            if isinstance(said, str) or isinstance(real, str):
                print(f'{name:10} {dtype} {said if isinstance(said, str) else real}', flush=True)
                continue
            print(f'{name:10} {dtype}', *(f'{what} {said[what] / 2**20:8.1f} {real[what] / 2**20:8.1f}'
                                          f' {(said[what] / real[what] - 1) * 100:+6.2f} %'
                                          for what in ('requested', 'reserved')), flush=True)


main()
