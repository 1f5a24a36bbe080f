import type { Escalation } from "@countersign/contract";
import type { Changes } from "./case.tsx";
import type { Offered } from "./changes/edit-parameters.tsx";
import { CancelDialog, ReassignDialog } from "./ruling/operator-dialogs.tsx";
import { RulingDialog } from "./ruling/ruling-dialog.tsx";

export type Act = "approve" | "approve_same" | "approve_modified" | "block" | "cancel" | "reassign";

export function ActDialog({
  act,
  escalation,
  content,
  left_out,
  same,
  offered,
  onClose,
  onDone,
}: {
  readonly act: Act;
  readonly escalation: Escalation;
  /** The parameters that an approval would allow. Changes apply to them. */
  readonly content: unknown;
  /** Characters of the action that were never on the screen. */
  readonly left_out: number;
  /** The changes that others approved, for `approve_same`. */
  readonly same: Changes | null;
  readonly offered: Offered;
  readonly onClose: () => void;
  readonly onDone: (after: Escalation) => void;
}) {
  if (act === "reassign") return <ReassignDialog escalation={escalation} onClose={onClose} onDone={onDone} />;
  if (act === "cancel") return <CancelDialog escalation={escalation} onClose={onClose} onDone={onDone} />;
  const ruling =
    act === "approve_same" ? ({ outcome: "approve_modified", same } as const) : { outcome: act, same: null };
  return <RulingDialog {...ruling} {...{ escalation, content, left_out, offered, onClose, onDone }} />;
}
