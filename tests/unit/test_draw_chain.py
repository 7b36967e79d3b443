"""The chain as a picture: what launches, what is skipped, what is redirected, where it stopped."""

from labkit.draw.chain import chain_alt_text, chain_figure, chain_rows
from labkit.op import TensorDesc, plan_hardshrink, plan_hardshrink_backward


def texts(figure):
    return [text.get_text() for text in figure.texts]


MIXED = plan_hardshrink_backward(
    TensorDesc("float16", (4, 1)), TensorDesc("float32", (1, 4)), 0.5, TensorDesc("float32", (4, 4))
)
DROPPED = plan_hardshrink_backward(
    TensorDesc("float32", (3, 1)),
    TensorDesc("float16", (3, 2)),
    0.5,
    TensorDesc("float32", (3, 2), (-2, 1), 4),
)


def test_the_rows_are_the_steps_in_order_with_what_became_of_them():
    told = [(row.name, row.operand, row.lane, row.kind) for row in chain_rows(MIXED)]
    assert told == [
        ("checks", "", "joined", "checked"),
        ("Contiguous", "self", "right", "skipped"),
        ("Contiguous", "gradOutput", "left", "skipped"),
        ("BroadcastTo", "gradOutput", "left", "launched"),
        ("BroadcastTo", "self", "right", "launched"),
        ("Cast", "gradOutput", "left", "launched"),
        ("Cast", "self", "right", "skipped"),
        ("HardShrinkGrad", "gradOutput, self", "joined", "launched"),
        ("Cast", "the result", "joined", "skipped"),
        ("ViewCopy", "gradInput", "joined", "redirected"),
    ]
    assert [row.kernels for row in chain_rows(MIXED) if row.kernels] == [(0,), (1,), (2,), (3,)]


def test_a_row_works_on_what_its_kernel_reads():
    strided = plan_hardshrink_backward(
        TensorDesc("float16", (4, 6, 8), (96, 1, 12), 0, (1000,)),
        TensorDesc("bfloat16", (4, 6, 1), (200, 16, 2), 3, (1000,)),
        0.3,
        TensorDesc("float16", (4, 6, 8)),
    )
    for plan in (MIXED, strided):
        made = {"gradOutput": "gradOutput", "self": "self"}
        for row in chain_rows(plan):
            for number in row.kernels:
                launch = plan.launches[number]
                read = [made[op.buffer] for op in launch.inputs if op.const is None]
                if row.lane != "joined":
                    assert read == [row.operand], (row, launch)
                    made[launch.outputs[0].buffer] = row.operand
                elif row.name == "HardShrinkGrad":
                    assert read == ["gradOutput", "self"]
                    made[launch.outputs[0].buffer] = "result"


def test_the_picture_says_what_flows_and_where_the_last_kernel_writes():
    shown = texts(chain_figure(MIXED))
    for words in (
        "What does this call launch?",
        "fp16 [4, 1] → fp16 [4, 4]",
        "fp16 → fp32 [4, 4]",
        "4  HardShrinkGrad",
        "into gradInput itself",
        "no kernel: launch 4 writes it",
        "✓ 4 kernels",
    ):
        assert words in shown
    assert shown.count("AI Core") == 4 and shown.count("no kernel") == 4
    alt = chain_alt_text(MIXED)
    for words in (
        "workspace 16779264 B",
        "Cast of gradOutput (launched, fp16 → fp32 [4, 4])",
        "Cast of self (skipped, fp32 [4, 4]): already FLOAT",
        "ViewCopy of gradInput (redirected, fp32 [4, 4])",
        "In all: 4 kernels.",
    ):
        assert words in alt


def test_a_failing_plan_shows_where_it_stopped_and_the_code():
    assert {row.kind for row in chain_rows(DROPPED)[:-1]} == {"checked", "skipped", "dropped"}
    assert chain_rows(DROPPED)[-1].kind == "stopped"
    shown = texts(chain_figure(DROPPED))
    assert "stopped: 561103" in shown and "✗" in shown and shown.count("planned, then dropped") == 4
    assert any("561103 ACLNN_ERR_INNER_NULLPTR" in text for text in shown)
    assert "ViewCopy of gradInput (stopped)" in chain_alt_text(DROPPED)
    tiling_refuses = plan_hardshrink_backward(
        TensorDesc("float32", (3, 2)),
        TensorDesc("float32", (3, 2), (-2, 1), 4),
        0.5,
        TensorDesc("float32", (3, 2)),
    )
    last = chain_rows(tiling_refuses)[-1]
    assert (last.name, last.operand, last.lane, last.kind) == (
        "AsStrided",
        "self",
        "right",
        "stopped",
    )


def test_no_kernel_one_kernel_and_the_forward_operator():
    empty = plan_hardshrink(TensorDesc("float32", (0,)), 0.5, TensorDesc("float32", (0,)))
    assert "✓ no kernel is launched" in texts(chain_figure(empty))
    one = plan_hardshrink(TensorDesc("bfloat16", (5,)), 0.5, TensorDesc("bfloat16", (5,)))
    told = [(row.name, row.operand, row.kind) for row in chain_rows(one)]
    assert told == [
        ("checks", "", "checked"),
        ("Contiguous", "self", "skipped"),
        ("HardShrink", "self", "launched"),
        ("Cast", "the result", "skipped"),
        ("ViewCopy", "out", "redirected"),
    ]
    assert "✓ 1 kernel" in texts(chain_figure(one))
