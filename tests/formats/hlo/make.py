"""make.py - writes the files that run.py reads, with jax on a CPU; run it only to renew them.

    python3 -m venv VENV && VENV/bin/pip install jax==0.10.2
    VENV/bin/python tests/formats/hlo/make.py

Each file is what XLA writes with --xla_dump_hlo_as_proto for one compiled function, gzipped. The
programs are kept small: a gradient of two layers; a recurrent network, whose loops leave gaps in
the use of their buffers; a mixture with conditions and calls, whose temporary allocation has
buffers that the simulation of the heap does not know.
"""

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

PROGRAMS = '''
import jax
import jax.numpy as jnp

def mlp(w1, w2, x):
    return jnp.sum((jnp.tanh(x @ w1) @ w2) ** 2)

def recurrent(w, u, xs):
    def step(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ w + h @ u, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    zero = jnp.zeros((xs.shape[1], u.shape[0]))
    return jax.lax.scan(step, (zero, zero), xs)[1].sum()

def mixed(x):
    z = jnp.sort(jnp.abs(jnp.fft.rfft2(x)), -1)
    q = z @ z.transpose(0, 2, 1) + jnp.eye(z.shape[1]) * 100
    chosen = jax.lax.cond(x.sum() > 0, lambda a: jnp.cumsum(a, 1), lambda a: a * 2, x)
    return jnp.linalg.cholesky(q), jax.lax.top_k(z, 5), chosen

def of(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)

jax.jit(jax.grad(mlp, (0, 1))).lower(of(128, 256), of(256, 32), of(64, 128)).compile()
jax.jit(jax.grad(recurrent, (0, 1))).lower(of(64, 256), of(64, 256), of(16, 8, 64)).compile()
jax.jit(mixed).lower(of(4, 64, 64)).compile()
'''


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # from standard input, so that no path of this machine is in the stacks
        subprocess.run([sys.executable, '-c', 'exec(compile(open(0).read(),'
                        ' "programs.py", "exec"))'], input=PROGRAMS, text=True, check=True,
                       env={**os.environ, 'JAX_PLATFORMS': 'cpu', 'XLA_FLAGS':
                            f'--xla_dump_to={folder} --xla_dump_hlo_as_proto'})
        for name in ('mlp', 'recurrent', 'mixed'):
            dump, = Path(folder).glob(f'*.jit_{name}.*after_optimizations.hlo.pb')
            (HERE / f'{name}.hlo.pb.gz').write_bytes(gzip.compress(dump.read_bytes(), 9, mtime=0))


if __name__ == '__main__':
    main()
