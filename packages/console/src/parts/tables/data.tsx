/** Text from outside, shown as data. */
import { useState } from "react";
import { textParts } from "../visible-text.ts";
import { useLeftOut } from "./left-out.tsx";

const page_chars = 4_000;
const tail_chars_max = 1_000;

/**
 * Any text that an agent, an integrator or another person sent. `lines` keeps line breaks; otherwise it stays one line. Of a
 * text longer than `chars_max` its head and its tail stand, and how much lies between them; with `more` that is a button for it,
 * which must not stand in a link.
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
  const tail_chars = Math.min(tail_chars_max, Math.floor(chars_max / 4));
  const [head_chars, setHeadChars] = useState(chars_max - tail_chars);
  const left_out = Math.max(0, text.length - head_chars - tail_chars);
  useLeftOut(left_out);
  if (left_out === 0)
    return (
      <bdi className="data" dir="auto">
        <Parts text={text} lines={lines} />
      </bdi>
    );
  const count = `… ${left_out.toLocaleString("en")} more characters …`;
  return (
    <bdi className="data" dir="auto">
      <Parts text={text.slice(0, head_chars)} lines={lines} />
      {more ? (
        <button type="button" className="button small quiet" onClick={() => setHeadChars(head_chars + page_chars * 5)}>
          {count}
        </button>
      ) : (
        <span className="muted">{` ${count} `}</span>
      )}
      <Parts text={text.slice(text.length - tail_chars)} lines={lines} />
    </bdi>
  );
}

function Parts({ text, lines }: { readonly text: string; readonly lines: boolean }) {
  return textParts(text, lines).map(({ text: part, hides }, index) =>
    hides === null ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never change places
      <span key={index} className="esc" title={hides}>
        {part}
      </span>
    ),
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
