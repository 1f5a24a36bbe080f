import type { Confirm, FastVote, Pace } from "@countersign/contract";

export function paceText({ min_seconds, reason_from }: Pace): string {
  const when = [
    ...(min_seconds === undefined ? [] : [`within ${min_seconds} s after the case was shown`]),
    ...(reason_from === undefined ? [] : [`if it is number ${reason_from} or later within five minutes`]),
  ];
  return when.length === 0 ? "" : `An approval needs a reason ${when.join(" and ")}.`;
}

export function confirmText(confirm: Confirm): string {
  return confirm === "passkey"
    ? "Each ruling is signed with a passkey."
    : "Each ruling is confirmed with a code of an authenticator, or signed with a passkey.";
}

export function fastText({ shown_seconds, approvals_in_five_minutes, second_person }: FastVote): string {
  const shown =
    shown_seconds === null ? "without a look at the case" : `${shown_seconds.toFixed(1)} s after the case was shown`;
  const reason = second_person ? "no reason, so one more person must approve" : "with the reason above";
  return `Fast: ${shown}, approval ${approvals_in_five_minutes} within five minutes; ${reason}.`;
}
