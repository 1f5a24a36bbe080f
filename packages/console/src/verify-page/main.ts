/** The page that verifies a receipt without a network. It becomes one file: verify.html. */
import {
  canVerify,
  type ReceiptVerdict,
  receiptStory,
  type VerifyReceiptOptions,
  verifyReceipt,
} from "@countersign/sdk/verify";
import { shownJson, shownText } from "./shown.ts";

type Named = { readonly file: HTMLInputElement } & Readonly<Record<"keys" | "known" | "proof", HTMLTextAreaElement>>;

const byId = (id: string): HTMLElement => document.getElementById(id) as HTMLElement;
const field = (id: keyof Named) => byId(id) as Named[typeof id];
const result = byId("result");

function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  content: string | readonly Node[],
  style = "",
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  if (style !== "") made.className = style;
  if (typeof content === "string") made.textContent = shownText(content);
  else made.append(...content);
  return made;
}

const list = (name: "ul" | "ol", items: readonly string[]): HTMLElement =>
  element(
    name,
    items.map((item) => element("li", item)),
  );

function shownVerdict(verdict: ReceiptVerdict): HTMLElement[] {
  if (!verdict.ok)
    return [
      element(
        "div",
        [element("h2", "No: this receipt is not genuine."), element("p", `${verdict.reason}.`)],
        "verdict no",
      ),
      element("p", `The check that failed: ${verdict.check}. Do not rely on anything that the file says.`),
    ];
  return [
    element("div", [element("h2", "Yes: this receipt is genuine."), element("p", verdict.intent_id)], "verdict yes"),
    element("h3", "What was recorded"),
    list("ol", receiptStory(verdict.entries)),
    element("h3", "What is proved"),
    list("ul", verdict.proved),
    element("h3", "What is not proved"),
    list("ul", verdict.not_proved),
    ...verdict.entries.map(({ index, type, documents }) => {
      const shown = element("details", [element("summary", `Entry ${index} of the log, as recorded: ${type}`)]);
      for (const [name, document] of Object.entries(documents))
        shown.append(element("h3", name), preformatted(document === null ? "erased or withheld" : shownJson(document)));
      return shown;
    }),
  ];
}

function preformatted(text: string): HTMLPreElement {
  const made = document.createElement("pre");
  made.textContent = text;
  // Long documents scroll in some browsers, so the keyboard must reach them.
  made.tabIndex = 0;
  return made;
}

const linesOf = ({ value }: { readonly value: string }): string[] =>
  value.split("\n").filter((line) => line.trim() !== "");

function terms(): VerifyReceiptOptions {
  const [keys, checkpoint] = [linesOf(field("keys")), field("known").value];
  if (checkpoint.trim() === "") return { keys };
  // Copying a text often loses the line break at its end.
  return { keys, known: { checkpoint: `${checkpoint.trimEnd()}\n`, proof: linesOf(field("proof")) } };
}

async function verify(): Promise<void> {
  const [file] = Array.from((field("file") as HTMLInputElement).files ?? []);
  if (file === undefined) return;
  try {
    const receipt = new Uint8Array(await file.arrayBuffer());
    result.replaceChildren(...shownVerdict(await verifyReceipt(receipt, terms())));
  } catch (error) {
    result.replaceChildren(element("p", `The receipt was not checked: ${(error as Error).message}.`, "problem"));
  }
}

function takeDrops(): void {
  const drop = byId("drop");
  const over = (is_over: boolean) => (event: DragEvent) => {
    event.preventDefault();
    drop.classList.toggle("over", is_over);
  };
  document.addEventListener("dragover", over(true));
  document.addEventListener("dragleave", over(false));
  document.addEventListener("drop", (event) => {
    over(false)(event);
    const files = event.dataTransfer?.files;
    if (files === undefined || files.length === 0) return;
    (field("file") as HTMLInputElement).files = files;
    result.replaceChildren();
  });
}

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  void verify();
});
// Removes the verdict when the file or the key changes, because it is about the earlier ones.
byId("form").addEventListener("input", () => result.replaceChildren());
takeDrops();
void canVerify().then((can) => {
  byId("old").hidden = can;
  byId("form").hidden = !can;
});
