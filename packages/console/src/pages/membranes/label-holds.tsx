import type { MembraneReadiness } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useClient, useMay } from "../../api/session.tsx";
import { Dialog } from "../../parts/forms/dialog.tsx";
import { Failed } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time } from "../../parts/time.tsx";
import { useToasts } from "../../parts/toasts.tsx";
import { readinessKey } from "./readiness-key.ts";

type Hold = MembraneReadiness["false_holds"]["sample"][number];

/** Opens the next holds of the random sample, one after the other. */
export function LabelHolds({ readiness }: { readonly readiness: MembraneReadiness }) {
  const { membrane_id, false_holds } = readiness;
  const queries = useQueryClient();
  const may = useMay("reviewer");
  /** Kept while the dialog is open, because each label changes the sample. */
  const [holds, setHolds] = useState<readonly Hold[] | null>(null);
  if (!may || (false_holds.sample.length === 0 && holds === null)) return null;
  const count = false_holds.sample.length;
  return (
    <div className="row">
      <button type="button" className="button small" onClick={() => setHolds(false_holds.sample)}>
        {`Label ${count}${false_holds.labelled === 0 ? "" : " more"} ${count === 1 ? "hold" : "holds"}`}
      </button>
      <span className="muted small">Was it right to hold them? Keys: R right, W wrong, S skip.</span>
      {holds !== null && (
        <LabelDialog
          holds={holds}
          onClose={() => {
            setHolds(null);
            void queries.invalidateQueries({ queryKey: readinessKey(membrane_id) });
          }}
        />
      )}
    </div>
  );
}

const choices = [
  ["Right", "r", true],
  ["Wrong", "w", false],
  ["Skip", "s", null],
] as const;

function LabelDialog({ holds, onClose }: { readonly holds: readonly Hold[]; readonly onClose: () => void }) {
  const client = useClient();
  const toasts = useToasts();
  const [place, setPlace] = useState(0);
  const [wrong, setWrong] = useState(0);
  const hold = holds[place];
  const label = useMutation({
    mutationFn: async ({ intent_id, is_right }: { intent_id: string; is_right: boolean | null }) => {
      if (is_right !== null) await client.labelHold(intent_id, is_right);
    },
    onSuccess: (_, { is_right }) => {
      const wrong_now = wrong + (is_right === false ? 1 : 0);
      setWrong(wrong_now);
      setPlace(place + 1);
      if (place + 1 < holds.length) return;
      toasts.done("Holds labelled", `That was all ${holds.length}. You called ${wrong_now} wrong.`);
      onClose();
    },
  });
  if (hold === undefined) return null;
  const choose = (is_right: boolean | null) => {
    if (!label.isPending) label.mutate({ intent_id: hold.intent_id, is_right });
  };
  return (
    <Dialog title="Was it right to hold this?" onClose={onClose}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys are shortcuts of the buttons inside */}
      <div
        className="stack"
        onKeyDown={(event) => {
          const choice = choices.find(([, key]) => key === event.key.toLowerCase());
          if (choice === undefined || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
          event.preventDefault();
          choose(choice[2]);
        }}
      >
        <Case hold={hold} of={`${place + 1} of ${holds.length}`} />
        {label.error !== null && <Failed error={label.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Stop
          </button>
          {choices.map(([name, key, is_right], index) => (
            <button
              key={key}
              type="button"
              className={`button ${index === 0 ? "primary" : ""}`}
              aria-keyshortcuts={key}
              // biome-ignore lint/a11y/noAutofocus: the dialog is opened to press one of these
              autoFocus={index === 0}
              onClick={() => choose(is_right)}
            >
              {`${name} (${key.toUpperCase()})`}
            </button>
          ))}
        </div>
      </div>
    </Dialog>
  );
}

function Case({ hold, of }: { readonly hold: Hold; readonly of: string }) {
  const { intent_id, agent_id, verb, verdict, at, rules } = hold;
  return (
    <>
      <p className="muted small" aria-live="polite">
        {of}
      </p>
      <dl className="pairs">
        <dt>Agent</dt>
        <dd>
          <Data text={agent_id} chars_max={100} />
        </dd>
        <dt>Wanted</dt>
        <dd>
          <Data text={verb} chars_max={100} />
        </dd>
        <dt>Would have been</dt>
        <dd>{verdict === "block" ? "blocked" : "held for a person"}</dd>
        <dt>By</dt>
        <dd>{rules.length === 0 ? "the membrane's settings" : <Data text={rules.join(", ")} chars_max={200} />}</dd>
        <dt>When</dt>
        <dd>
          <Time at={at} />
        </dd>
      </dl>
      <p>
        <Link to="/decisions/$intent_id" params={{ intent_id } as never} target="_blank">
          Open the decision in a new tab
        </Link>
      </p>
    </>
  );
}
