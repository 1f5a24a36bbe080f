/** Text from outside, shown as data. */
import { useState } from "react";
import { textParts } from "../visible-text.ts";

const page_chars = 4_000;

/**
 * Any text that an agent, an integrator or another person sent. `lines` keeps line breaks; otherwise it stays one line. A
 * text longer than `chars_max` is cut; with `more` there is a button for the rest, which must not stand in a link.
 */
export function Data({
  text,
  lines = false,
  chars_max = page_chars,
  more = chars_max >= page_chars,
}: {
  readonly text: string;
  readonly lines?: boolean;
  readonly chars_max?: number;
  readonly more?: boolean;
}) {
  const [shown, setShown] = useState(chars_max);
  const parts = textParts(text.slice(0, shown), lines);
  return (
    <bdi className="data" dir="auto">
      {parts.map(({ text: part, hides }, index) =>
        hides === null ? (
          part
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never change places
          <span key={index} className="esc" title={hides}>
            {part}
          </span>
        ),
      )}
      {text.length > shown && !more && "…"}
      {text.length > shown && more && (
        <button type="button" className="button small quiet" onClick={() => setShown(shown + page_chars * 5)}>
          {`… ${(text.length - shown).toLocaleString("en")} more characters`}
        </button>
      )}
    </bdi>
  );
}

/** What an agent chose inside a sentence of ours, set apart: otherwise it could go on with the sentence as it likes. */
export function Given(props: { readonly text: string; readonly chars_max?: number; readonly more?: boolean }) {
  return (
    <q className="given">
      <Data {...props} />
    </q>
  );
}
