import { moneyText } from "../money.ts";

/** One line of a document that is shown as a form. */
export interface FormRow {
  readonly path: string;
  readonly depth: number;
  /** Words for the member's name. Null: the name itself is shown, because words could mean another member. */
  readonly label: string | null;
  readonly name: string;
  /** `words`: written by us. `data`: from the document. `head`: the members follow. */
  readonly kind: "words" | "data" | "head";
  readonly text: string;
}

const pointerPart = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** Returns one row for each value, in the order of the document. */
export function formRows(value: unknown): FormRow[] {
  const rows: FormRow[] = [];
  if (isBranch(value)) addMembers(rows, value, "", 0);
  else add(rows, value, { path: "", depth: 0, label: "Value", name: "" });
  return rows;
}

const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null;

type Place = Pick<FormRow, "path" | "depth" | "label" | "name">;

function addMembers(rows: FormRow[], value: object, path: string, depth: number): void {
  const entries = Object.entries(value);
  const labels = Array.isArray(value) ? entries.map(([at]) => String(Number(at) + 1)) : labelsOf(Object.keys(value));
  for (const [at, [name, each]] of entries.entries())
    add(rows, each, { path: `${path}/${pointerPart(name)}`, depth, label: labels[at] ?? null, name });
}

function add(rows: FormRow[], value: unknown, place: Place): void {
  if (!isBranch(value)) {
    rows.push({ ...place, ...shown(value, place.name) });
    return;
  }
  const count = Object.keys(value).length;
  const list = Array.isArray(value);
  if (count === 0) {
    rows.push({ ...place, kind: "words", text: list ? "an empty list" : "no members" });
    return;
  }
  rows.push({ ...place, kind: "head", text: list ? `${count} ${count === 1 ? "entry" : "entries"}` : "" });
  addMembers(rows, value, place.path, place.depth + 1);
}

function shown(value: unknown, name: string): Pick<FormRow, "kind" | "text"> {
  if (value === null) return { kind: "words", text: "no value" };
  if (value === "") return { kind: "words", text: "an empty text" };
  if (typeof value === "boolean") return { kind: "words", text: value ? "yes" : "no" };
  if (typeof value === "number") return { kind: "words", text: isMoney(name) ? exactMoney(value) : numberText(value) };
  const text = String(value);
  return { kind: "data", text: couldBeOther(text) ? JSON.stringify(text) : text };
}

const isMoney = (name: string) => name.toLowerCase().endsWith("_usd");

/** An amount that the usual format would round is shown in full. */
const exactMoney = (usd: number) => (Number(usd.toFixed(2)) === usd ? moneyText(usd) : `$${numberText(usd)}`);

function numberText(value: number): string {
  const text = String(value);
  return text.includes("e") ? text : value.toLocaleString("en", { maximumFractionDigits: 20 });
}

const otherWords = new Set(["yes", "no", "no value", "an empty text", "an empty list", "no members"]);

/** A text that reads like a number, or like one of our words, is shown in quotation marks. */
const couldBeOther = (text: string) => /^[-$+]?[\d.,]+$/.test(text.trim()) || otherWords.has(text.trim().toLowerCase());

/** Returns words for plain names that differ in more than their case. Null: another name. */
function labelsOf(names: readonly string[]): (string | null)[] {
  const labels = names.map((name) => (/^[a-zA-Z][a-zA-Z0-9]*(?:[_-][a-zA-Z0-9]+)*$/.test(name) ? wordsOf(name) : null));
  const uses = new Map<string | null, number>();
  for (const label of labels) uses.set(label, (uses.get(label) ?? 0) + 1);
  return labels.map((label) => (uses.get(label) === 1 ? label : null));
}

/** Returns `amount_usd` as `Amount, USD` and `orderId` as `Order id`. */
function wordsOf(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[_\s-]+/)
    .map((word) => word.toLowerCase());
  const currency = words.length > 1 && words.at(-1) === "usd";
  const text = (currency ? words.slice(0, -1) : words).join(" ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${currency ? ", USD" : ""}`;
}
