/** A form with a field for each parameter. Lists, objects and texts with hidden characters are changed as JSON. */
import { type CatalogueEntry, foldName } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useClient } from "../../api/session.tsx";
import { TextArea, TextField } from "../../parts/forms/field.tsx";
import { sameJson } from "../../parts/records/json-lines.ts";
import { Data } from "../../parts/tables/data.tsx";
import { visibleText } from "../../parts/visible-text.ts";
import { emptyValue, type Field, fieldsOf, withoutValue, withValue } from "./fields.ts";

type Document = Readonly<Record<string, unknown>>;

/** Reads the types that the membrane's catalogue has for a tool; undefined: none are known, or not wanted. */
export function useToolSchema(membrane_id: string, verb: string, wanted: boolean): CatalogueEntry["parameters"] {
  const client = useClient();
  const { data } = useQuery({
    queryKey: ["membranes", membrane_id, "one"],
    queryFn: () => client.getMembrane(membrane_id),
    enabled: wanted,
    staleTime: 60_000,
  });
  return data?.action_catalogue.find((each) => foldName(each.verb) === foldName(verb))?.parameters;
}

export function ParameterForm({
  content,
  document,
  schema,
  onChange,
}: {
  readonly content: Document;
  readonly document: Document;
  readonly schema: CatalogueEntry["parameters"];
  readonly onChange: (document: Document) => void;
}) {
  const fields = fieldsOf(content, document, schema);
  if (fields.length === 0) return <p className="muted">The action has no parameters.</p>;
  return (
    <div className="parameters">
      {fields.map((field) => {
        const { name, kind } = field;
        const was = Object.hasOwn(content, name) ? content[name] : undefined;
        return (
          <Parameter
            key={name}
            field={field}
            value={document[name]}
            was={was}
            onValue={(value) => onChange(withValue(document, name, value))}
            onLeaveOut={() => onChange(withoutValue(document, name))}
            onAdd={() => onChange(withValue(document, name, was ?? emptyValue(kind)))}
          />
        );
      })}
    </div>
  );
}

interface ParameterProps {
  readonly field: Field;
  readonly value: unknown;
  /** The value of the action; undefined: it has none. */
  readonly was: unknown;
  readonly onValue: (value: unknown) => void;
  readonly onLeaveOut: () => void;
  readonly onAdd: () => void;
}

function Parameter(props: ParameterProps) {
  const { field, value, was, onLeaveOut, onAdd } = props;
  const label = visibleText(field.name);
  const changed = !field.absent && was !== undefined && !sameJson(was, value);
  return (
    <div className={changed || field.absent !== (was === undefined) ? "parameter changed" : "parameter"}>
      {field.absent ? (
        <AbsentField label={label} left_out={was !== undefined} />
      ) : (
        <PresentField {...props} label={label} />
      )}
      <button
        type="button"
        className="button small quiet"
        aria-label={`${field.absent ? "Add" : "Leave out"} ${label}`}
        onClick={field.absent ? onAdd : onLeaveOut}
      >
        {field.absent ? (was === undefined ? "Add" : "Put back") : "Leave out"}
      </button>
      {changed && (
        <span className="small muted was">
          {"was "}
          <Data text={JSON.stringify(was)} chars_max={200} more={false} />
        </span>
      )}
    </div>
  );
}

function AbsentField({ label, left_out }: { readonly label: string; readonly left_out: boolean }) {
  return (
    <div className="field">
      <span className="label">{label}</span>
      <span className="muted small">{left_out ? "left out" : "not given"}</span>
    </div>
  );
}

function PresentField({ field: { kind }, value, label, onValue }: ParameterProps & { readonly label: string }) {
  switch (kind) {
    case "text":
      return <TextField label={label} value={String(value)} onChange={(event) => onValue(event.target.value)} />;
    case "lines":
      return <TextArea label={label} value={String(value)} onChange={(event) => onValue(event.target.value)} />;
    case "number":
    case "integer":
      return <NumberField label={label} value={Number(value)} whole={kind === "integer"} onValue={onValue} />;
    case "boolean":
      return (
        <label className="check field">
          <input type="checkbox" checked={value === true} onChange={(event) => onValue(event.target.checked)} />
          {label}
        </label>
      );
    case "json":
      return (
        <div className="field">
          <span className="label">{label}</span>
          <span className="mono small">
            <Data text={JSON.stringify(value)} chars_max={200} more={false} />
          </span>
          <span className="hint">Change it as JSON.</span>
        </div>
      );
    default:
      return kind satisfies never;
  }
}

/** Chromium does not check the steps of numbers that are further from the minimum than 2^53. */
const whole_min = -1e15;

/** Keeps the last number while the text is none. The browser then refuses to send the form. */
function NumberField({
  label,
  value,
  whole,
  onValue,
}: {
  readonly label: string;
  readonly value: number;
  readonly whole: boolean;
  readonly onValue: (value: number) => void;
}) {
  const [text, setText] = useState(String(value));
  const [before, setBefore] = useState(value);
  if (before !== value) {
    setBefore(value);
    if (text === "" || Number(text) !== value) setText(String(value));
  }
  const write = (next: string) => {
    setText(next);
    const number = Number(next);
    if (next.trim() !== "" && Number.isFinite(number) && (!whole || Number.isInteger(number))) onValue(number);
  };
  return (
    <TextField
      label={label}
      type="number"
      step={whole ? 1 : "any"}
      // Steps count from the minimum. Without one they count from the text itself, which then always fits.
      {...(whole ? { min: whole_min } : {})}
      required
      value={text}
      onChange={(event) => write(event.target.value)}
    />
  );
}
