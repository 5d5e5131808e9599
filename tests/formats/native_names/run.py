#!/usr/bin/python3
"""run.py - names of C++ in stacks: the function in a tag, and the workspaces of libraries.

usage: run.py PROGRAM

The frames are invented, in the forms that demanglers write.
"""
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "snapshot"), str(HERE.parents[1] / "support")]
from snaps import LARGE, M, Log, block, pickled, segment, snapshot  # noqa: E402
from program import call  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
ok, same = TAP.ok, TAP.same
ALLOCATOR = ("torch::unwind::unwind()", "c10::cuda::CUDACachingAllocator::Native::"
             "NativeCachingAllocator::malloc(signed char**, int, unsigned long, CUstream_st*)")
AT = "torch::autograd::generated::"
NAMES = {
    AT + "MmBackward0::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)": "MmBackward0",
    AT + "details::div_tensor_self_backward(at::Tensor const&, T, c10::ScalarType)":
        "div_tensor_self_backward",
    AT + "details::(anonymous namespace)::sum_exp(at::Tensor, c10::ArrayRef<long>)": "sum_exp",
    AT + "details::scale<at::Tensor, std::pair<int, long> >::run(at::Tensor) const": "run",
    AT + "details::outer(int)::{lambda(at::Tensor const&)#1}::operator()(at::Tensor) const": "outer",
    AT + "details::operator<<(std::ostream&, at::Tensor const&)": "operator<<",
    "at::Tensor " + AT + "details::convolution_jvp<2>(at::Tensor (*)(int), bool)": "convolution_jvp",
    AT + "AddBackward0": "AddBackward0",
}
# outside autograd: the function with its namespaces, without result, templates and parameters
PLAIN = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>)":
        "at::native::vectorized_elementwise_kernel",
    "std::vector<at::Tensor, std::allocator<at::Tensor> > my_ext::forward(at::Tensor const&)":
        "my_ext::forward",
    "at::native::(anonymous namespace)::softmax(at::Tensor const&, long) const": "at::native::softmax",
    "(anonymous namespace)::Pool<char>::take(std::size_t) [clone .isra.0]": "Pool::take",
    "my::buffer(int)::{lambda(long)#2}::operator()(long) const": "my::buffer::operator()",
    "my::Tensor::operator bool() const": "my::Tensor::operator bool",
    "decltype(auto) my::get<0>(std::tuple<int>&)": "my::get",
    "ncclCommInitRank": "ncclCommInitRank",
    "flash::mha_fwd": "flash::mha_fwd",
}
WORKSPACES = (
    "at::cuda::(anonymous namespace)::getNewWorkspace()",
    "at::cuda::getCUDABlasLtWorkspace()",
    "void at::native::gpu_reduce_kernel<float, float, 4, 4>(at::TensorIterator&, float)",
    "at::native::Workspace::Workspace(unsigned long)",
)


def recorded(*frames, size=4 * M):
    native = [name not in ("main", "forward") for name in (*ALLOCATOR, *frames)]
    stack = [{"name": name, "filename": "??" if bare else "/home/me/train.py", "line": 0 if bare else 9}
             for name, bare in zip((*ALLOCATOR, *frames), native)]
    log = Log(frames=stack).segment(LARGE, 20 * M).alloc(LARGE, size)
    Path("trace").write_bytes(pickled(snapshot(
        [segment(LARGE, block(LARGE, size, frames=stack))], log)))
    rc, out, err = call("explain", "--at", "peak", "--json", "-", "-q", "trace")
    return json.loads(out)["moments"][0]["holders"][0] if rc == 0 else {"failed": err}


def names():
    for name, wanted in NAMES.items():
        same(f"tag of {name}", recorded(name).get("tag"), wanted)
    for name, wanted in PLAIN.items():
        same(f"tag of {name}", recorded(name).get("tag"), wanted)
    for damaged in (AT + "details::f(", AT + "a<b", AT, AT + "::", AT + "(((", AT + "operator",
                    "a::", "::", "a::(", "void a::b<", "a::operator ", " ::", "a:: ::b"):
        ok("failed" not in recorded(damaged), f"a damaged name: {damaged}")


def workspaces():
    for name in WORKSPACES:
        for frames in ((name,), (name, "main"), (AT + "MmBackward0::apply(int)", name)):
            got = recorded(*frames)
            same(f"{name}, {len(frames)} frames", [got.get("class"), got.get("evidence")],
                 ["workspaces", "stack"], got)
    same("its tag", recorded(WORKSPACES[0], AT + "MmBackward0::apply(int)")["tag"],
         "at::cuda::getNewWorkspace")
    same("called by the program", recorded(WORKSPACES[2], "forward")["tag"],
         "at::native::gpu_reduce_kernel < train.py:9 forward")
    for name, remedy in zip(WORKSPACES, ("CUBLAS_WORKSPACE_CONFIG=:16:8", "CUBLASLT_WORKSPACE_SIZE",
                                         "reduce fewer", "torch.backends.cudnn.benchmark")):
        for frames in ((name,), (name, "forward")):
            recorded(*frames)
            out = call("explain", "--at", "peak", "trace")[1]
            ok(remedy in out.partition("workspaces")[2], f"the remedy of {name}", out)
    same("no workspace", recorded("at::native::getWorkspaceless(int)", "main").get("class"), None)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    names()
    workspaces()
    os.chdir(HERE)
sys.exit(TAP.finish())
