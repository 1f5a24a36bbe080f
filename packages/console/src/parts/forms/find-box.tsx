/** A field that completes filters, and a chip for each filter that was typed. */
import { limits } from "@countersign/contract";
import { Command } from "cmdk";
import { useRef, useState } from "react";
import { useKeys } from "../../review/shortcuts.tsx";
import { Data } from "../tables/data.tsx";

/** The filters of a page that can be typed. */
export interface Findable<Name extends string> {
  readonly label: string;
  readonly placeholder: string;
  /** The word before the colon, in the order of the suggestions. */
  readonly words: Readonly<Record<Name, string>>;
  /** Names with a chip, in the order of the chips. */
  readonly chips: readonly Name[];
  /** Accepts only known values, unless the reader typed the word. */
  readonly exact: Name;
  /** The first of what was not found. */
  readonly free: Name;
}

/** Known values of each filter. */
export type Known<Name extends string> = Readonly<Record<Name, readonly string[]>>;

/** Keeps the typed text. Read known values for `text` while the field is `open`. */
export function useTyped<Name extends string>({ words }: Pick<Findable<Name>, "words">) {
  const [typed, setTyped] = useState("");
  const [open, setOpen] = useState(false);
  const [, word, rest] = /^([a-z-]+):(.*)$/s.exec(typed.trim()) ?? [];
  const only = (Object.keys(words) as Name[]).find((name) => words[name] === word);
  const text = (only === undefined ? typed : (rest ?? "")).trim();
  return { typed, setTyped, open, setOpen, only, text };
}

type Typed<Name extends string> = ReturnType<typeof useTyped<Name>>;

interface Suggestion<Name extends string> {
  readonly name: Name;
  readonly value: string;
}

type Given<Name extends string> = Readonly<Partial<Record<Name, string>>>;

const suggestions_max = 9;
const of_a_name_max = 3;

export function FindBox<Name extends string>({
  found,
  input,
  known,
  filters,
  onFilter,
}: {
  readonly found: Findable<Name>;
  readonly filters: Given<NoInfer<Name>>;
  readonly input: Typed<NoInfer<Name>>;
  readonly known: Known<NoInfer<Name>>;
  readonly onFilter: (change: Given<NoInfer<Name>>) => void;
}) {
  const { typed, setTyped, open, setOpen } = input;
  const box = useRef<HTMLElement>(null);
  const suggestions = suggestionsOf(found, input, known);
  useKeys({ "/": () => box.current?.querySelector("input")?.focus() });
  const choose = ({ name, value }: Suggestion<Name>) => {
    if (value === "") {
      setTyped(`${found.words[name]}:`);
      return;
    }
    onFilter({ [name]: value } as Given<Name>);
    setTyped("");
    setOpen(false);
  };
  return (
    <div className="stack tight">
      <search
        ref={box}
        onBlur={(event) => {
          if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false);
        }}
        onFocus={() => setOpen(true)}
        onKeyDown={(event) => {
          if (event.key === "Escape") setOpen(false);
        }}
      >
        <Command shouldFilter={false} label={found.label} className="find">
          <Command.Input
            value={typed}
            onValueChange={(text) => {
              setTyped(text);
              setOpen(true);
            }}
            maxLength={limits.target_identifier_chars_max}
            placeholder={found.placeholder}
          />
          <Command.List label="Filters to add" className="suggestions" hidden={!open || suggestions.length === 0}>
            {suggestions.map((each) => (
              <Command.Item
                key={`${each.name} ${each.value}`}
                value={`${each.name} ${each.value}`}
                onSelect={() => choose(each)}
              >
                <span className="muted">{`${found.words[each.name]}:`}</span>
                {each.value === "" ? (
                  <span className="muted">…</span>
                ) : (
                  <Data text={each.value} chars_max={80} more={false} />
                )}
              </Command.Item>
            ))}
          </Command.List>
        </Command>
      </search>
      <Chips found={found} filters={filters} onFilter={onFilter} />
    </div>
  );
}

function Chips<Name extends string>({
  found: { chips, words },
  filters,
  onFilter,
}: {
  readonly found: Findable<Name>;
  readonly filters: Given<Name>;
  readonly onFilter: (change: Given<Name>) => void;
}) {
  const set = chips.filter((name) => filters[name] !== undefined);
  if (set.length === 0) return null;
  return (
    <ul className="plain row" aria-label="Searched for">
      {set.map((name) => (
        <li key={name}>
          <button
            type="button"
            className="button small chip"
            title="Remove this filter"
            onClick={() => onFilter({ [name]: "" } as Given<Name>)}
          >
            <span className="muted">{`${words[name]}:`}</span>
            <Data text={filters[name] ?? ""} chars_max={60} more={false} />
            <span aria-hidden="true">×</span>
            <span className="sr">, remove</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Known values that contain the typed text, then the typed text itself as a value of each filter. */
function suggestionsOf<Name extends string>(
  { words, exact: known_only, free }: Findable<Name>,
  { typed, only, text }: Typed<Name>,
  known: Known<Name>,
): readonly Suggestion<Name>[] {
  const names = Object.keys(words) as Name[];
  if (only === undefined && typed.trim() === "") return names.map((name) => ({ name, value: "" }));
  const named = names.filter((name) => only === undefined && words[name].startsWith(text));
  const wanted = only === undefined ? names : [only];
  const folded = text.toLowerCase();
  const found = wanted.flatMap((name) =>
    known[name]
      .filter((value) => value !== text && value.toLowerCase().includes(folded))
      .slice(0, only === undefined ? of_a_name_max : suggestions_max)
      .map((value) => ({ name, value })),
  );
  const asTyped = text === "" ? [] : wanted.map((name) => ({ name, value: text }));
  const exact = asTyped.filter(({ name, value }) => known[name].includes(value));
  const others = asTyped.filter((each) => !exact.includes(each) && !(only === undefined && each.name === known_only));
  others.sort((a, b) => Number(b.name === free) - Number(a.name === free));
  return [...exact, ...named.map((name) => ({ name, value: "" })), ...found, ...others].slice(
    0,
    suggestions_max + names.length,
  );
}
