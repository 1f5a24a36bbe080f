import { useId, useMemo, useState } from "react";
import { Data } from "../tables/data.tsx";
import { useLeftOut } from "../tables/left-out.tsx";
import { type FormRow, formRows } from "./form-rows.ts";
import { JsonView } from "./json-view.tsx";

const head_rows_first = 120;
const more_rows = 1_000;
const tail_rows = 30;

/** Shows the parameters of an action as a form, or as JSON if the reader wants. */
export function ContentView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const [as_json, setAsJson] = useState(false);
  return (
    <div className="stack tight">
      <div className="row">
        <button type="button" className="button small quiet" aria-pressed={!as_json} onClick={() => setAsJson(false)}>
          Form
        </button>
        <button type="button" className="button small quiet" aria-pressed={as_json} onClick={() => setAsJson(true)}>
          JSON
        </button>
      </div>
      {as_json ? <JsonView value={value} label={label} /> : <FormView value={value} label={label} />}
    </div>
  );
}

function FormView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const rows = useMemo(() => formRows(value), [value]);
  const name = useId();
  const [head_rows, setHeadRows] = useState(head_rows_first);
  const between = rows.slice(head_rows, Math.max(head_rows, rows.length - tail_rows));
  useLeftOut(between.reduce((sum, row) => sum + row.name.length + row.text.length, 0));
  if (rows.length === 0) return <p className="muted">The action has no parameters.</p>;
  return (
    <section aria-labelledby={name}>
      <h3 className="sr" id={name}>
        {label}
      </h3>
      <Rows rows={rows.slice(0, head_rows)} />
      {between.length > 0 && (
        <button type="button" className="button small quiet" onClick={() => setHeadRows(head_rows + more_rows)}>
          {`… ${between.length.toLocaleString("en")} values not shown …`}
        </button>
      )}
      <Rows rows={rows.slice(head_rows + between.length)} />
    </section>
  );
}

function Rows({ rows }: { readonly rows: readonly FormRow[] }) {
  if (rows.length === 0) return null;
  return (
    <dl className="form-view">
      {rows.map(({ path, depth, label, name, kind, text }) => (
        <div key={path} data-depth={Math.min(depth, 8)}>
          <dt title={path} className={label === null ? "mono" : undefined}>
            {label ?? <Data text={JSON.stringify(name)} chars_max={300} more />}
          </dt>
          <dd className={kind === "data" ? undefined : "ours"}>
            {kind === "data" ? <Data text={text} lines /> : text}
          </dd>
        </div>
      ))}
    </dl>
  );
}
