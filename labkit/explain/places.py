"""The workspace of a chain: bucket by bucket, member by member, each with its reason.

The buckets are the plan's; here the allocator's walk is gone through once more
to say why each tensor lies where it does.
"""

from __future__ import annotations

from labkit.explain.chain import BucketInfo, Chain, MemberInfo, Workspace
from labkit.explain.conditions import first_fit_size
from labkit.explain.maker import Maker
from labkit.explain.words import joined, named_number, parted
from labkit.language import Text
from labkit.op.workspace import Bucket, Member, align

__all__ = [
    "bucket_name",
    "bucket_text",
    "lifetime_text",
    "size_text",
    "workspace_heading",
    "workspace_of",
]


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
        return Text("phase 1 fails, so no size is given")
    if not plan.launches:
        return Text("nothing is launched, so nothing needs a place")
    text = Text(
        "no tensor in between and no kernel workspace: {name} takes the result",
        name=maker.out_name,
    )
    if plan.buckets:
        text = Text(
            "a tensor takes its bytes plus 32, rounded up to 512 (so 0 bytes take 512); a bucket "
            "is as large as its largest member; buckets lie one after another: {sizes} = {total}",
            sizes=" + ".join(f"{bucket.size}" for bucket in plan.buckets),
            total=plan.workspace_size,
        )
        saved = plan.workspace_size - first_fit_size(plan)
        if saved > 0:
            text = Text(
                "{said}. Taking the first bucket that fits would save {n} bytes", said=text, n=saved
            )
    if any(x.core == "AICORE" and x.workspace is None for x in plan.launches):
        if plan.soc.is_regbase:
            return Text("{said}. The kernels' own workspaces are taken as none", said=text)
        return Text(
            "{said}. The kernels' own workspaces are not public for {chip} and taken as none",
            said=text,
            chip=plan.soc.short,
        )
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
    why = Text("as large as its largest member, the {holds}", holds=largest.holds)
    if len(members) == 1:
        why = Text("one member")
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
    reasons: dict[str, str] = {}
    for member in members:
        home = homes[member.name]
        blocked = [_blocked(maker, number, m, member) for number, m in enumerate(latest)]
        free = [number for number, reason in enumerate(blocked) if not reason]
        if home == len(latest):
            told = parted(blocked)
            first = Text("the first of all")
            reasons[member.name] = Text("new bucket: {why}", why=told) if told else first
            latest.append(member)
            continue
        others = [str(number) for number in free if number != home]
        reasons[member.name] = _follows(maker.holds(latest[home].name), others)
        latest[home] = member
    return reasons


def _follows(holds: str, others: list[str]) -> Text:
    """Why a member took a used bucket, and which `others` it could have taken."""
    reason = Text("follows the {holds}, dead by then", holds=holds)
    if len(others) == 1:
        return Text(
            "{said}; bucket {number} would do too, but the last that fits is taken",
            said=reason,
            number=others[0],
        )
    if others:
        return Text(
            "{said}; buckets {numbers} would do too, but the last that fits is taken",
            said=reason,
            numbers=joined(others),
        )
    return reason


def _blocked(maker: Maker, number: int, holder: Member, member: Member) -> str:
    """Why a bucket's latest member keeps a new one out; empty when it does not."""
    what = maker.holds(holder.name)
    if holder.name in member.read_by_producer:
        return Text(
            "bucket {number} holds the {holds}, which this kernel reads", number=number, holds=what
        )
    if holder.start == member.start:
        return Text("bucket {number} got the {holds} in the same launch", number=number, holds=what)
    if holder.end >= member.start:
        return Text(
            "bucket {number} holds the {holds}, needed until launch {end}",
            number=number,
            holds=what,
            end=holder.end + 1,
        )
    return ""


def workspace_heading(chain: Chain) -> Text:
    """The size of the workspace, or that phase 1 gave none."""
    size = size_text(chain.workspace) if chain.ok else Text("not given")
    return Text("workspace: {size}", size=size)


def bucket_name(bucket: BucketInfo) -> Text:
    """What a bucket is called: they count from 0."""
    return Text("bucket {number}", number=bucket.number)


def bucket_text(bucket: BucketInfo) -> Text:
    """Size and place of a bucket, and why it is that large."""
    return Text(
        "{size} bytes at {place}, {why}", size=bucket.size, place=bucket.offset, why=bucket.why
    )


def lifetime_text(member: MemberInfo) -> Text:
    """From which launch to which a member lives, counted from 1."""
    if member.start == member.end:
        return Text("launch {number}", number=member.start + 1)
    return Text("launches {first}-{last}", first=member.start + 1, last=member.end + 1)


def size_text(workspace: Workspace) -> Text:
    """The size of a workspace in words."""
    return named_number(workspace.size, "byte")
