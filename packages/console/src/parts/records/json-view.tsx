/** JSON on the screen: each line as data, long ones and many of them on demand. */
import { useMemo, useState } from "react";
import { Data } from "../tables/data.tsx";
import { changedLines, diffLines, type JsonLine, jsonLines } from "./json-lines.ts";

const page_lines = 200;
const signs = { same: " ", added: "+", removed: "−" } as const;
const spoken = { same: null, added: "added: ", removed: "removed: " } as const;

function Lines({ lines, label }: { readonly lines: readonly JsonLine[]; readonly label: string }) {
  const [shown, setShown] = useState(page_lines);
  return (
    <section aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to get there */}
      <pre className="json" tabIndex={0}>
        {lines.slice(0, shown).map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one document never change places
          <span key={index} className={`l ${line.sign}`}>
            {spoken[line.sign] !== null && <span className="sr">{spoken[line.sign]}</span>}
            <span className="sign" aria-hidden="true">
              {signs[line.sign]}
            </span>
            {"  ".repeat(line.depth)}
            {line.key !== null && (
              <>
                <span className="k">
                  <Data text={JSON.stringify(line.key)} chars_max={300} more />
                </span>
                {": "}
              </>
            )}
            <Data text={line.text} chars_max={2_000} more />
          </span>
        ))}
      </pre>
      {lines.length > shown && (
        <button type="button" className="button small" onClick={() => setShown(shown + page_lines * 5)}>
          {`Show more of ${lines.length} lines`}
        </button>
      )}
    </section>
  );
}

/** One JSON document. */
export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const lines = useMemo(() => jsonLines(value), [value]);
  return <Lines lines={lines} label={label} />;
}

/** The way from one document to another. Where it is long, what changed stands alone until all is asked for. */
export function JsonDiff({
  before,
  after,
  label,
}: {
  readonly before: unknown;
  readonly after: unknown;
  readonly label: string;
}) {
  const all = useMemo(() => diffLines(before, after), [before, after]);
  const [whole, setWhole] = useState(false);
  const folds = all.length > page_lines && !whole;
  return (
    <div className="stack tight">
      <Lines lines={folds ? changedLines(all) : all} label={label} />
      {folds && (
        <button type="button" className="button small" onClick={() => setWhole(true)}>
          {`Show all ${all.length} lines, also what stays`}
        </button>
      )}
    </div>
  );
}
