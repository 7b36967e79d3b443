"""The workspace of a chain: bucket by bucket, member by member, each with its reason.

The buckets are the plan's; here the allocator's walk is gone through once more
to say why each tensor lies where it does.
"""

from __future__ import annotations

from labkit.explain.chain import BucketInfo, MemberInfo, Workspace
from labkit.explain.conditions import first_fit_size
from labkit.explain.maker import Maker, joined, named_number
from labkit.op.workspace import Bucket, Member, align

__all__ = ["workspace_of"]


def workspace_of(maker: Maker) -> Workspace:
    """The workspace with the reasons for its size."""
    plan = maker.plan
    reasons = _reasons(maker)
    buckets = tuple(
        _bucket(maker, number, bucket, reasons) for number, bucket in enumerate(plan.buckets)
    )
    return Workspace(plan.workspace_size, buckets, _why(maker))


def _why(maker: Maker) -> str:
    plan = maker.plan
    if not plan.ok:
        return "phase 1 fails, so no size is given"
    if not plan.launches:
        return "nothing is launched, so nothing needs a place"
    text = ""
    if not plan.buckets:
        text = f"no tensor in between and no kernel workspace: {maker.out_name} takes the result"
    else:
        sizes = [bucket.size for bucket in plan.buckets]
        sum_text = " + ".join(f"{size}" for size in sizes)
        text = (
            "a tensor takes its bytes plus 32, rounded up to 512 (so 0 bytes take 512); a bucket "
            "is as large as its largest member; buckets lie one after another: "
            f"{sum_text} = {plan.workspace_size}"
        )
        saved = plan.workspace_size - first_fit_size(plan)
        if saved > 0:
            text += f". Taking the first bucket that fits would save {saved} bytes"
    if any(x.core == "AICORE" and x.workspace is None for x in plan.launches):
        chip = "" if plan.soc.is_regbase else f"not public for {plan.soc.short} and "
        text += f". The kernels' own workspaces are {chip}taken as none"
    return text


def _bucket(maker: Maker, number: int, bucket: Bucket, reasons: dict[str, str]) -> BucketInfo:
    members = tuple(
        MemberInfo(
            member.name,
            maker.holds(member.name),
            member.size,
            align(member.size),
            member.start,
            member.end,
            reasons[member.name],
        )
        for member in bucket.members
    )
    largest = max(members, key=lambda member: member.taken)
    why = f"as large as its largest member, the {largest.holds}"
    if len(members) == 1:
        why = "one member"
    return BucketInfo(number, bucket.offset, bucket.size, members, why)


def _reasons(maker: Maker) -> dict[str, str]:
    """Why each member went where it went, by walking through them as the allocator does."""
    homes = {
        member.name: number
        for number, bucket in enumerate(maker.plan.buckets)
        for member in bucket.members
    }
    members = [member for bucket in maker.plan.buckets for member in bucket.members]
    # Of one launch the kernel's own workspace comes before its result.
    members.sort(key=lambda member: (member.start, not member.name.startswith("kernel")))
    latest: list[Member] = []
    reasons = {}
    for member in members:
        home = homes[member.name]
        blocked = [_blocked(maker, number, m, member) for number, m in enumerate(latest)]
        free = [number for number, reason in enumerate(blocked) if not reason]
        if home == len(latest):
            told = "; ".join(reason for reason in blocked if reason)
            reasons[member.name] = f"new bucket: {told}" if told else "the first of all"
            latest.append(member)
            continue
        others = [str(number) for number in free if number != home]
        reason = f"follows the {maker.holds(latest[home].name)}, dead by then"
        if others:
            what = "bucket" if len(others) == 1 else "buckets"
            reason += f"; {what} {joined(others)} would do too, but the last that fits is taken"
        reasons[member.name] = reason
        latest[home] = member
    return reasons


def _blocked(maker: Maker, number: int, holder: Member, member: Member) -> str:
    """Why a bucket's latest member keeps a new one out; empty when it does not."""
    what = maker.holds(holder.name)
    if holder.name in member.read_by_producer:
        return f"bucket {number} holds the {what}, which this kernel reads"
    if holder.start == member.start:
        return f"bucket {number} got the {what} in the same launch"
    if holder.end >= member.start:
        return f"bucket {number} holds the {what}, needed until launch {holder.end + 1}"
    return ""


def lifetime_text(member: MemberInfo) -> str:
    """From which launch to which a member lives, counted from 1."""
    if member.start == member.end:
        return f"launch {member.start + 1}"
    return f"launches {member.start + 1}-{member.end + 1}"


def size_text(workspace: Workspace) -> str:
    """The size of a workspace in words."""
    return named_number(workspace.size, "byte")
