import { useState } from "react";
import { textParts } from "../visible-text.ts";
import { useLeftOut } from "./left-out.tsx";

const page_chars = 4_000;
const tail_chars_max = 1_000;

/**
 * A text from an agent, an integrator or another person. `lines` keeps line breaks. A text longer than `chars_max`
 * shows its ends and the number of characters between; with `more` the number is a button, which must not be in a link.
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
  const count = `… ${left_out.toLocaleString("en")} characters not shown …`;
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

/** An agent's text inside one of our sentences, marked so that it cannot continue the sentence. */
export function Given(props: { readonly text: string; readonly chars_max?: number; readonly more?: boolean }) {
  return (
    <q className="given">
      <Data {...props} />
    </q>
  );
}
