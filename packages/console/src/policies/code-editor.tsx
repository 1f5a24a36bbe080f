/**
 * The text editor of policies, in a shadow root: there the editor uses constructed style sheets, which the content
 * security policy allows. In the document it would add a style element, which the policy forbids.
 */
import { autocompletion, type CompletionContext, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { hiddenCharacter } from "@countersign/contract";
import { classHighlighter } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { shownFor } from "../parts/visible-text.ts";
import { type Mark, nestsTooDeep } from "./document-text.ts";
import { wordsAfter } from "./vocabulary.ts";

const theme = EditorView.theme({
  "&": { fontSize: "13px", color: "var(--text)", backgroundColor: "var(--surface)", minHeight: "320px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", minHeight: "320px", maxHeight: "70vh" },
  ".cm-content, .cm-gutter": { minHeight: "320px" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface-2)", color: "var(--muted)", border: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)",
  },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-bg)", outline: "1px solid var(--accent)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", border: "1px solid var(--border-strong)", color: "var(--text)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "1em" },
  "li[aria-selected] .cm-completionDetail": { color: "var(--on-accent)" },
  ".cm-specialChar": { color: "var(--block)", backgroundColor: "var(--block-bg)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--block)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--block)",
    textDecorationSkipInk: "none",
    backgroundColor: "var(--block-bg)",
  },
  ".tok-propertyName, .tok-definition": { color: "var(--accent)" },
  ".tok-string": { color: "var(--approve)" },
  ".tok-number, .tok-bool, .tok-keyword, .tok-atom": { color: "var(--escalate)" },
  ".tok-comment": { color: "var(--muted)", fontStyle: "italic" },
});

/** Shows invisible and reordering characters as escapes. The text does not change. */
const escapes = highlightSpecialChars({
  addSpecialChars: new RegExp(`(?!\\t)(?:${hiddenCharacter.source})`, "gu"),
  render(code) {
    const { text, hides } = shownFor(code);
    const element = document.createElement("span");
    element.className = "cm-specialChar";
    element.textContent = text;
    element.title = hides;
    return element;
  },
});

/** The YAML parser is recursive and exhausts the stack on deep nesting. Such a document is plain text. */
const language = new Compartment();
const highlighted: Extension = yaml();
const plain: Extension = [];

/** Switches to plain text in the change that makes the document too deep, before the parser sees it. */
const leaveLanguage = EditorState.transactionExtender.of(({ docChanged, newDoc, startState }) =>
  docChanged && language.get(startState) === highlighted && nestsTooDeep(newDoc.toString())
    ? { effects: language.reconfigure(plain) }
    : null,
);

/** Switches back after the change, because in the same transaction the new parser would read the old document. */
const returnToLanguage = EditorView.updateListener.of(({ docChanged, state, view }) => {
  if (docChanged && language.get(state) === plain && !nestsTooDeep(state.doc.toString()))
    view.dispatch({ effects: language.reconfigure(highlighted) });
});

const iconOf = {
  variable: "variable",
  fact: "property",
  function: "function",
  field: "keyword",
  value: "enum",
} as const;

function complete(context: CompletionContext) {
  const before = context.matchBefore(/[A-Za-z_][\w.]*/);
  if (before === null && !context.explicit) return null;
  const text = before?.text ?? "";
  const path = text.split(".").slice(0, -1);
  const words = wordsAfter(path);
  if (words.length === 0) return null;
  return {
    from: (before?.from ?? context.pos) + (text.includes(".") ? text.lastIndexOf(".") + 1 : 0),
    options: words.map(({ label, kind, detail }) => ({
      label,
      detail,
      type: iconOf[kind],
      ...(kind === "function" ? { apply: `${label}(` } : {}),
    })),
    validFor: /^\w*$/,
  };
}

interface EditorProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly marks: readonly Mark[];
  readonly label: string;
  readonly readOnly?: boolean;
  /** The focus begins here: all of the first text, which a paste or a key then replaces, or a place in it. */
  readonly begins?: "all" | RegExp | null;
}

export function CodeEditor({ text, onChange, marks, label, readOnly = false, begins = null }: EditorProps) {
  const { place, view } = useEditorView({ text, onChange, label, readOnly, begins });

  useEffect(() => {
    const current = view.current;
    if (current === null) return;
    const shown = current.state.doc.toString();
    if (shown !== text) current.dispatch({ changes: { from: 0, to: shown.length, insert: text } });
  }, [text, view]);

  useEffect(() => {
    const current = view.current;
    if (current !== null) current.dispatch(setDiagnostics(current.state, diagnosticsOf(marks, current.state)));
  }, [marks, view]);

  return <div className="editor" ref={place} />;
}

/** Creates the view in the shadow root of `place`, and again when `label` or `readOnly` changes. */
function useEditorView({ text, onChange, label, readOnly, begins }: Required<Omit<EditorProps, "marks">>) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const first = useRef({ text, begins });
  useEffect(() => {
    const host = place.current;
    if (host === null) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const { text: doc, begins } = first.current;
    const extensions = [
      extensionsFor(doc, label),
      EditorState.readOnly.of(readOnly),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed.current(update.state.doc.toString());
      }),
    ];
    const made = new EditorView({ root, parent: root, state: EditorState.create({ doc, extensions }) });
    view.current = made;
    const selection = selectionAt(doc, begins);
    if (selection !== null) {
      made.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) });
      made.focus();
    }
    return () => {
      made.destroy();
      view.current = null;
    };
  }, [label, readOnly]);
  return { place, view };
}

/** Returns the selection at the start; null: the editor does not take the focus. */
function selectionAt(doc: string, begins: "all" | RegExp | null): { anchor: number; head?: number } | null {
  if (begins === "all") return { anchor: 0, head: doc.length };
  const anchor = begins === null ? -1 : doc.search(begins);
  return anchor < 0 ? null : { anchor };
}

function extensionsFor(doc: string, label: string): Extension {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    escapes,
    indentOnInput(),
    bracketMatching(),
    lintGutter(),
    language.of(nestsTooDeep(doc) ? plain : highlighted),
    leaveLanguage,
    returnToLanguage,
    syntaxHighlighting(classHighlighter),
    autocompletion({ override: [complete], icons: false }),
    // Tab has no binding, so the keyboard can leave the editor.
    keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
    theme,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", "data-editor": "" }),
  ];
}

/** The displayed text may be shorter than the checked one. */
function diagnosticsOf(marks: readonly Mark[], { doc }: EditorState): Diagnostic[] {
  return marks.map(({ from, to, message, severity }) => ({
    from: Math.min(from, doc.length),
    to: Math.min(Math.max(to, from), doc.length),
    message,
    severity,
  }));
}
