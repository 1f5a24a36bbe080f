import { type CatalogueEntry, type Decision, limits } from "@countersign/contract";
import { useMemo, useRef, useState } from "react";
import { TextArea } from "../../parts/forms/field.tsx";
import { isObject, type PatchStep, patchBetween, sameJson } from "../../parts/records/json-lines.ts";
import { JsonDiff } from "../../parts/records/json-view.tsx";
import { editableJson } from "../../parts/visible-text.ts";
import { fillIn } from "./fill-in.ts";
import { ParameterForm } from "./parameter-form.tsx";

/** Changes with which policies would have approved; null: none are known. */
export type Offered = Decision["would_approve_if"];

/** A patch (empty if nothing changed) with its result, or a problem. */
export type Edited =
  | { readonly steps: readonly PatchStep[]; readonly document: Readonly<Record<string, unknown>> }
  | { readonly problem: string };

export function readEdited(content: unknown, text: string): Edited {
  if (text.length > limits.body_bytes_max)
    return { problem: "This is more than 1 MB. The service does not accept it." };
  try {
    const document: unknown = JSON.parse(text);
    if (typeof document !== "object" || document === null || Array.isArray(document))
      return { problem: "The parameters must be one JSON object." };
    const problem = problemOf(text);
    if (problem !== null) return { problem };
    return { steps: patchBetween(content, document), document: { ...document } };
  } catch (error) {
    return { problem: `This is not JSON yet: ${error instanceof Error ? error.message : String(error)}` };
  }
}

const namesAndBrackets = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}[\]]/g;

/**
 * Returns why the service refuses a JSON text that `JSON.parse` accepts, or null. `JSON.parse` silently keeps the last
 * of two equal names, and thousands of levels would crash the page.
 */
function problemOf(json: string): string | null {
  const open: Set<string>[] = [];
  for (const [token, name = "", colon] of json.matchAll(namesAndBrackets)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (colon !== undefined) {
      const names = open.at(-1);
      const plain = JSON.stringify(JSON.parse(name));
      if (names?.has(plain)) return `${plain} occurs twice in one object: remove one of them.`;
      names?.add(plain);
    }
    if (open.length > limits.json_depth_max) return `At most ${limits.json_depth_max} levels of nesting are allowed.`;
  }
  return null;
}

/** Returns null if the changes can be sent. */
export function whyUnready(edited: Edited): string | null {
  if ("problem" in edited) return edited.problem;
  return edited.steps.length === 0 ? "The parameters are unchanged." : null;
}

/**
 * Returns the parameters that policies would approve; null if no change of parameters achieves this, or nothing is to
 * change.
 */
function whatToFillIn(edited: Edited, offered: Offered): unknown {
  if ("problem" in edited || offered === null) return null;
  const filled = fillIn(edited.document, offered);
  return filled === null || sameJson(filled, edited.document) ? null : filled;
}

export function EditParameters({
  content,
  text,
  edited,
  offered,
  schema,
  onText,
}: {
  readonly content: unknown;
  readonly text: string;
  readonly edited: Edited;
  readonly offered: Offered;
  /** The registered types of the tool's parameters. */
  readonly schema: CatalogueEntry["parameters"];
  readonly onText: (text: string) => void;
}) {
  const filled = useMemo(() => whatToFillIn(edited, offered), [edited, offered]);
  const [as_json, setAsJson] = useState("problem" in edited);
  const field = useRef<HTMLTextAreaElement>(null);
  const place = useRef<HTMLDivElement>(null);
  return (
    <>
      <Switch as_json={as_json} formless={"problem" in edited} onSwitch={setAsJson} />
      <div ref={place} tabIndex={-1} className="stack">
        {as_json || "problem" in edited ? (
          <TextArea
            ref={field}
            label="Parameters as JSON"
            hint="Change what the agent may do. Only the difference is sent."
            wrong={"problem" in edited ? edited.problem : null}
            className="code"
            spellCheck={false}
            value={text}
            onChange={(event) => onText(event.target.value)}
          />
        ) : (
          <ParameterForm
            content={isObject(content) ? content : {}}
            document={edited.document}
            schema={schema}
            onChange={(document) => onText(editableJson(document))}
          />
        )}
      </div>
      {filled !== null && (
        <div className="row">
          <button
            type="button"
            className="button small"
            onClick={() => {
              onText(editableJson(filled));
              // The button disappears after its use.
              (field.current ?? place.current)?.focus();
            }}
          >
            Fill in what would be approved
          </button>
        </div>
      )}
      {"steps" in edited && edited.steps.length > 0 && (
        <JsonDiff before={content} after={edited.document} label="Your changes" />
      )}
    </>
  );
}

function Switch({
  as_json,
  formless,
  onSwitch,
}: {
  readonly as_json: boolean;
  /** The text is not JSON, so no form can show it. */
  readonly formless: boolean;
  readonly onSwitch: (as_json: boolean) => void;
}) {
  return (
    <fieldset className="tabs" aria-label="How to change the parameters">
      <button
        type="button"
        aria-current={as_json ? undefined : "true"}
        disabled={formless}
        onClick={() => onSwitch(false)}
      >
        As a form
      </button>
      <button type="button" aria-current={as_json ? "true" : undefined} onClick={() => onSwitch(true)}>
        As JSON
      </button>
    </fieldset>
  );
}
