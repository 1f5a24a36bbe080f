import { limits, type Membrane, type RequestedMove } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../api/session.tsx";
import { Dialog, FormActions } from "../../parts/forms/dialog.tsx";
import { TextField } from "../../parts/forms/field.tsx";
import { Who } from "../../parts/records/who.tsx";
import { Failed } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time } from "../../parts/time.tsx";
import { useToasts } from "../../parts/toasts.tsx";
import { Reasons, useReadiness } from "./readiness.tsx";

/** True: somebody asked for the membrane's next move, and a second person must confirm. */
export function isRequested({ requested_move, status }: Membrane): boolean {
  return requested_move !== null && requested_move.to !== status;
}

/** Who asked for a move that waits for a second person, and why. */
export function Requested({ membrane }: { readonly membrane: Membrane }) {
  const { requested_move: asked } = membrane;
  if (asked === null || !isRequested(membrane)) return null;
  return (
    <p role="status">
      <Who id={asked.requested_by} />
      {asked.to === "live" ? " asked to take it live " : " asked to return it to shadow "}
      <Time at={asked.requested_at} />
      {". A second, different admin must confirm within 24 hours of the request."}
      {asked.reason !== null && (
        <>
          {" Reason: "}
          <Data text={asked.reason} lines chars_max={300} />
        </>
      )}
    </p>
  );
}

const titles = { live: "Enforce its decisions from now on?", shadow: "Stop holding actions?" } as const;
const actions = { live: "Go live", shadow: "Return to shadow" } as const;

/** Asks before a membrane goes live or returns to shadow, for what the organization's settings want. */
export function MoveDialog({
  membrane,
  to,
  onClose,
}: {
  readonly membrane: Membrane;
  readonly to: RequestedMove["to"];
  readonly onClose: () => void;
}) {
  const client = useClient();
  const { data: readiness } = useReadiness(membrane, to === "live");
  const { data: settings } = useQuery({ queryKey: ["organization"], queryFn: () => client.getOrganization() });
  const move = useMove(membrane, to, onClose);
  const unready = to === "live" && readiness?.verdict === "not_yet" ? readiness.not_ready : [];
  const two = settings?.go_live_needs_second_person === true && !isRequested(membrane);
  return (
    <Dialog title={titles[to]} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          move.mutate({ reason: textIn(form, "reason"), name: textIn(form, "name") });
        }}
      >
        <p>
          {"Membrane "}
          <strong>
            <Data text={membrane.name} />
          </strong>
          {to === "shadow"
            ? ": agents continue whatever the verdict. Open reviews stay open. All admins get a mail."
            : ": blocked actions are refused and escalated ones wait for a person. First look at what it would have stopped."}
        </p>
        {unready.length > 0 && (
          <>
            <p>
              {settings?.go_live_needs_ready ? "It is not ready yet, so it cannot go live:" : "It is not ready yet:"}
            </p>
            <Reasons not_ready={unready} />
          </>
        )}
        {two && <p>Your organization wants two people: a second, different admin must confirm this within 24 hours.</p>}
        {to === "live" && settings?.go_live_needs_name && (
          <TextField label="Name of the membrane" name="name" required maxLength={limits.name_chars_max} />
        )}
        {(to === "shadow" || two) && (
          <TextField
            label="Reason"
            name="reason"
            hint={to === "shadow" ? "Written to the audit trail, and mailed to all admins." : "For the second person."}
            required={to === "shadow"}
            maxLength={limits.comment_chars_max}
          />
        )}
        {move.error !== null && <Failed error={move.error} />}
        <FormActions action={actions[to]} disabled={move.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function textIn(form: FormData, field: string): string | undefined {
  return String(form.get(field) ?? "").trim() || undefined;
}

interface Given {
  readonly reason: string | undefined;
  readonly name: string | undefined;
}

function useMove({ membrane_id }: Membrane, to: RequestedMove["to"], onDone: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: async ({ reason, name }: Given) =>
      to === "live"
        ? client.goLive(membrane_id, {
            ...(reason !== undefined && { reason }),
            ...(name !== undefined && { name }),
          })
        : { ...(await client.returnToShadow(membrane_id, reason ?? "")), next_steps: [] },
    onSuccess: ({ moved, next_steps }) => {
      if (!moved)
        toasts.told("A second person must confirm", "All admins got a mail. A different one confirms it here.");
      else {
        toasts.done(
          to === "live" ? "Live: its decisions are enforced from now on" : "In shadow: nothing is held any more",
        );
        if (next_steps.length > 0) toasts.told("What to do next", next_steps.join(" "));
      }
      onDone();
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ["membranes"] }),
  });
}
