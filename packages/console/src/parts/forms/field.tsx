import { limits } from "@countersign/contract";
import { type ComponentProps, type ReactNode, useId, useState } from "react";
import { visibleText } from "../visible-text.ts";

/** Longer pasted text is cut. */
const line_chars_max = 2_048;

interface Common {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly wrong?: string | null;
}

function Framed({ id, label, hint, wrong, children }: Common & { readonly id: string; readonly children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong != null && (
        <span className="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  );
}

function described(id: string, { hint, wrong }: Common) {
  const ids = [hint === undefined ? [] : `${id}-hint`, wrong == null ? [] : `${id}-wrong`].flat();
  return {
    ...(ids.length > 0 ? { "aria-describedby": ids.join(" ") } : {}),
    ...(wrong == null ? {} : { "aria-invalid": true as const }),
  };
}

/** The browser accepts spaces as a text, the service does not. */
const notBlank = { pattern: String.raw`[\s\S]*\S[\s\S]*`, title: "Something other than spaces" } as const;

export function TextField({ label, hint, wrong, ...input }: Common & ComponentProps<"input">) {
  const id = useId();
  return (
    <Framed id={id} label={label} hint={hint} wrong={wrong ?? null}>
      <input
        id={id}
        type="text"
        maxLength={line_chars_max}
        {...(input.required === true && input.type === undefined ? notBlank : {})}
        {...described(id, { label, hint, wrong: wrong ?? null })}
        {...input}
      />
    </Framed>
  );
}

/** By default the caller's own address. */
export function EmailField(input: Partial<ComponentProps<typeof TextField>>) {
  return (
    <TextField
      label="E-mail"
      name="email"
      type="email"
      required
      maxLength={limits.email_chars_max}
      autoComplete="username"
      {...input}
    />
  );
}

/** A text filter. Applies on blur or Enter, and follows changes of the filter elsewhere. */
export function FilterField({
  filter,
  onFilter,
  onTyped,
  ...field
}: {
  readonly label: string;
  readonly maxLength: number;
  readonly filter: string | undefined;
  readonly onFilter: (text: string) => void;
  /** Called for each change of the text, and when the field gets the focus. */
  readonly onTyped?: (text: string) => void;
  readonly wrong?: string | null;
  /** The id of a list of suggestions. */
  readonly list?: string;
  readonly autoComplete?: "off";
  readonly type?: "search";
  readonly "aria-keyshortcuts"?: string;
}) {
  const current = filter ?? "";
  const [text, setText] = useState(current);
  const [before, setBefore] = useState(current);
  if (before !== current) {
    setBefore(current);
    setText(current);
  }
  const finish = () => {
    if (text.trim() !== current) onFilter(text.trim());
  };
  return (
    <TextField
      {...field}
      value={text}
      onChange={({ target: { value } }) => {
        setText(value);
        onTyped?.(value);
      }}
      onFocus={() => onTyped?.(text)}
      onBlur={finish}
      onKeyDown={(event) => {
        if (event.key !== "Enter") return;
        // Prevents the form's submission before the filter applies.
        event.preventDefault();
        finish();
      }}
    />
  );
}

export function TextArea({ label, hint, wrong, ...input }: Common & ComponentProps<"textarea">) {
  const id = useId();
  return (
    <Framed id={id} label={label} hint={hint} wrong={wrong ?? null}>
      <textarea id={id} {...described(id, { label, hint, wrong: wrong ?? null })} {...input} />
    </Framed>
  );
}

/** One of `options`. Shows an unknown value of the address unchanged, without any effect. */
export function SelectField({
  label,
  hint,
  options,
  ...input
}: Common & ComponentProps<"select"> & { readonly options: readonly (readonly [value: string, text: string])[] }) {
  const id = useId();
  const other = typeof input.value === "string" && options.every(([value]) => value !== input.value);
  return (
    <Framed id={id} label={label} hint={hint}>
      <select id={id} {...described(id, { label, hint })} {...input}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
        {other && <option value={input.value}>{visibleText(String(input.value))}</option>}
      </select>
    </Framed>
  );
}
