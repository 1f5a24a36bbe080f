import { type Freeze, type FreezeMode, limits } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../parts/forms/field.tsx";
import { Who } from "../parts/records/who.tsx";
import { Failed, Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { type FreezeTarget, freezeOf, targetName, useFreezes, useFreezing } from "./frozen.ts";

const modes = [
  ["block", "block: nothing passes, and open reviews are closed"],
  ["escalate", "escalate: every action waits for an admin"],
] as const satisfies readonly (readonly [FreezeMode, string])[];

export function FreezeButton({ target }: { readonly target: FreezeTarget }) {
  const freezes = useFreezes();
  const [operator, admin] = [useMay("operator"), useMay("admin")];
  const [asking, setAsking] = useState(false);
  if (freezes.data === undefined) return null;
  const freeze = freezeOf(freezes.data, target);
  const close = () => setAsking(false);
  if (freeze === undefined ? !operator : !admin) return null;
  return (
    <>
      <button
        type="button"
        className={`button small ${freeze === undefined ? "bad" : ""}`}
        onClick={() => setAsking(true)}
      >
        {freeze === undefined ? "Freeze" : "Unfreeze"}
      </button>
      {asking && freeze === undefined && <FreezeDialog target={target} onClose={close} />}
      {asking && freeze !== undefined && <UnfreezeDialog target={target} freeze={freeze} onClose={close} />}
    </>
  );
}

const reasonIn = (event: FormEvent<HTMLFormElement>): string => {
  event.preventDefault();
  return String(new FormData(event.currentTarget).get("reason") ?? "").trim();
};

function FreezeDialog({ target, onClose }: { readonly target: FreezeTarget; readonly onClose: () => void }) {
  const { begin } = useFreezing(target, onClose);
  const [mode, setMode] = useState<FreezeMode>("block");
  return (
    <Dialog title="Freeze" onClose={onClose}>
      <form className="stack" onSubmit={(event) => begin.mutate({ mode, reason: reasonIn(event) })}>
        <p>
          <Data text={targetName(target)} />
          {" stops on every node, in live and in test mode, until an admin unfreezes it."}
        </p>
        <Counts target={target} />
        <SelectField
          label="Its actions"
          value={mode}
          onChange={(event) => setMode(event.target.value as FreezeMode)}
          options={modes}
        />
        <TextField
          label="Reason"
          name="reason"
          hint="Shown to everyone whose action is stopped."
          maxLength={limits.freeze_reason_chars_max}
          required
        />
        {begin.error !== null && <Failed error={begin.error} />}
        <FormActions action="Freeze" disabled={begin.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function Counts({ target: { kind, id } }: { readonly target: FreezeTarget }) {
  const client = useClient();
  const query = useQuery({
    queryKey: ["freezes", "preview", kind, id],
    queryFn: () =>
      client.previewFreeze(
        kind === "organization" ? { kind } : kind === "agent" ? { kind, agent_id: id } : { kind, key_id: id },
      ),
    staleTime: 0,
  });
  return (
    <Loaded query={query} what="what it stops">
      {({ decisions_24h, decisions_complete, open_reviews, live_overrides }) => (
        <dl className="pairs">
          <dt>Decisions in the last 24 hours</dt>
          <dd>{`${decisions_complete ? "" : "at least "}${decisions_24h.toLocaleString("en-US")}`}</dd>
          <dt>Open reviews</dt>
          <dd>{open_reviews.toLocaleString("en-US")}</dd>
          <dt>Unspent overrides</dt>
          <dd>{live_overrides.toLocaleString("en-US")}</dd>
        </dl>
      )}
    </Loaded>
  );
}

function UnfreezeDialog({
  target,
  freeze,
  onClose,
}: {
  readonly target: FreezeTarget;
  readonly freeze: Freeze;
  readonly onClose: () => void;
}) {
  const { end } = useFreezing(target, onClose);
  return (
    <Dialog title="Unfreeze" onClose={onClose}>
      <form className="stack" onSubmit={(event) => end.mutate(reasonIn(event))}>
        <p>
          <Data text={targetName(target)} />
          {" was frozen by "}
          <Who id={freeze.frozen_by} />
          {": "}
          <Data text={freeze.reason} />
        </p>
        {freeze.unfreeze_requested_by !== null && (
          <p>
            <Who id={freeze.unfreeze_requested_by} />
            {" asked to unfreeze it. A second, different person must confirm that."}
          </p>
        )}
        <TextField label="Reason" name="reason" maxLength={limits.freeze_reason_chars_max} required />
        {end.error !== null && <Failed error={end.error} />}
        <FormActions action="Unfreeze" disabled={end.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
