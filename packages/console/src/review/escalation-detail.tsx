import type { Decision, Escalation } from "@countersign/contract";
import { useEffect, useId, useRef, useState } from "react";
import { focusIsLost } from "../browser/focus.ts";
import { Loaded } from "../parts/states.tsx";
import { CountsLeftOut, useCountLeftOut } from "../parts/tables/left-out.tsx";
import { AllowSimilar } from "./allow-similar.tsx";
import { CaseLine } from "./case.tsx";
import { RequestedAction } from "./detail/requested-action.tsx";
import { RulingButtons } from "./detail/ruling-buttons.tsx";
import { useRulingRights } from "./detail/ruling-rights.ts";
import { StatusLine } from "./detail/status-line.tsx";
import { useEscalation, useIntent } from "./escalation-data.ts";
import { type Act, ActDialog } from "./ruling.tsx";
import { useKeys } from "./shortcuts.tsx";

/** `called`: the reviewer came by keyboard. The focus then goes to the case, and a screen reader announces it. */
export function EscalationDetail({
  escalation_id,
  called = false,
  onDone = () => undefined,
}: {
  readonly escalation_id: string;
  readonly called?: boolean;
  readonly onDone?: (after: Escalation) => void;
}) {
  const query = useEscalation(escalation_id);
  return (
    <Loaded query={query} what="the escalation">
      {(escalation) => <Detail escalation={escalation} called={called} onDone={onDone} />}
    </Loaded>
  );
}

function Detail({
  escalation,
  called,
  onDone,
}: {
  readonly escalation: Escalation;
  readonly called: boolean;
  readonly onDone: (after: Escalation) => void;
}) {
  const intentQuery = useIntent(escalation);
  const name = useId();
  const [act, setAct] = useState<Act | null>(null);
  const { left_out, tell } = useCountLeftOut();
  const article = useArticleFocus(called, act);
  const rights = useRulingRights(escalation, intentQuery.data !== undefined);
  useKeys(
    rights.can
      ? {
          ...(rights.approved || rights.awaited !== null ? {} : { a: () => setAct(rights.approval) }),
          b: () => setAct("block"),
          ...(rights.awaited !== null ? {} : { m: () => setAct("approve_modified") }),
        }
      : {},
    act === null,
  );
  return (
    <article className="card stack" aria-labelledby={name} tabIndex={-1} ref={article}>
      <h2 className="sr" id={name}>
        {"Escalation: "}
        <CaseLine escalation={escalation} />
      </h2>
      <StatusLine escalation={escalation} />
      <Loaded query={intentQuery} what="the action">
        {(answer) => {
          const content = baseOf(escalation, answer.decision, answer.intent.payload?.content);
          return (
            <>
              <CountsLeftOut tell={tell}>
                <RequestedAction escalation={escalation} answer={answer} content={content} />
              </CountsLeftOut>
              <AllowSimilar decision={answer.decision} intent={answer.intent} />
              {act !== null && (
                <ActDialog
                  act={act}
                  escalation={escalation}
                  content={content}
                  left_out={left_out}
                  same={rights.same}
                  offered={answer.decision.would_approve_if}
                  onClose={() => setAct(null)}
                  onDone={onDone}
                />
              )}
            </>
          );
        }}
      </Loaded>
      <RulingButtons escalation={escalation} rights={rights} onAct={setAct} />
    </article>
  );
}

/** Moves the focus to the article when the reviewer came by keyboard, and when a ruling removed the focused button. */
function useArticleFocus(called: boolean, act: Act | null) {
  const article = useRef<HTMLElement>(null);
  const acted = useRef(false);
  useEffect(() => {
    if (called) article.current?.focus({ preventScroll: true });
  }, [called]);
  useEffect(() => {
    // The dialog's button is gone or disabled, so it cannot get the focus back.
    if (act === null && acted.current && focusIsLost()) article.current?.focus({ preventScroll: true });
    acted.current = act !== null;
  }, [act]);
  return article;
}

/**
 * Returns what reviewers edit: the action as policies allow it. For a closed review only the submitted action is known.
 */
function baseOf({ status }: Escalation, decision: Decision, content: unknown): unknown {
  return (status === "pending" ? decision.modified_content : null) ?? content;
}
