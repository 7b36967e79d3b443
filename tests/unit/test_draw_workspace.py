"""The workspace as a picture: buckets, members, sizes, and what is alive at once."""

from labkit.draw.workspace import _aligned, alive, bytes_text, workspace_alt_text, workspace_figure
from labkit.op import TensorDesc, plan_hardshrink_backward
from labkit.op.workspace import Member, align


def texts(figure):
    return [text.get_text().replace("\u202f", "") for text in figure.texts]


MIXED = plan_hardshrink_backward(
    TensorDesc("float16", (4, 1)), TensorDesc("float32", (1, 4)), 0.5, TensorDesc("float32", (4, 4))
)
GROWN = plan_hardshrink_backward(
    TensorDesc("float16", (4, 6, 8), (96, 1, 12), 0, (1000,)),
    TensorDesc("bfloat16", (4, 6, 8), (200, 16, 2), 3, (1000,)),
    0.3,
    TensorDesc("float16", (4, 6, 8), (48, 1, 6), 0, (4, 8, 6)),
)


def test_a_piece_is_rounded_up_as_the_allocator_does():
    for size in (0, 1, 480, 481, 512, 992, 993, 16777216, 2**40):
        assert _aligned(Member("tensor1", size, 0, 0, frozenset())) == align(size)


def test_the_picture_has_every_bucket_member_and_the_total():
    shown = texts(workspace_figure(MIXED))
    for words in ("bucket 0", "16777728 B", "at 16778752", "tensor2", "fp32 [4, 4]", "scratch"):
        assert words in shown
    assert "16779264 B (16.0 MiB) in all" in shown
    assert "= 16777728 + 512 + 512 + 512" in shown
    assert [t for t in shown if t in ("BroadcastTo", "Cast", "HardShrinkGrad")] == [
        launch.op_type for launch in MIXED.launches
    ]
    alt = workspace_alt_text(MIXED)
    assert "Bucket 1, 512 bytes at 16777728: tensor1 fp16 [4, 4], 32 bytes, takes 512" in alt
    assert "launches 1 to 3; scratch of launch 4, 0 bytes, takes 512, launch 4." in alt
    assert "In all 16779264 bytes; at most 16779264 of them live at once." in alt


def test_what_never_lives_at_once_is_told():
    assert alive(MIXED)[2] == MIXED.workspace_size
    assert max(alive(GROWN)) == 16780288 and GROWN.workspace_size == 50334208
    assert "33553920 B (32.0 MiB) more than ever live at once" in texts(workspace_figure(GROWN))


def test_without_a_workspace_it_says_why():
    nothing = plan_hardshrink_backward(None, None, 0.5, None)
    assert "nobody: phase 1 stopped with 161001 ACLNN_ERR_PARAM_NULLPTR" in texts(
        workspace_figure(nothing)
    )
    small = TensorDesc("float32", (2,))
    direct = plan_hardshrink_backward(small, small, 0.5, small, soc="910b")
    assert "so 0 B of workspace" in workspace_alt_text(direct)


def test_bytes_are_exact_and_large_ones_rounded_beside_it():
    assert bytes_text(512) == "512 B"
    assert bytes_text(2**40).replace("\u202f", "") == "1099511627776 B (1.0 TiB)"
