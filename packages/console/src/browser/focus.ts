/** Without a focused element, a screen reader would begin at the top of the page. */
export function focusIsLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

/** Places with a name for screen readers. */
const named_place = "dialog[open], article, section[aria-label], main";

/** Longer than a page takes to move the focus itself. */
const settled_ms = 50;

/**
 * After the focused element disappears, moves the focus to the nearest remaining place around it. Returns a function to
 * stop.
 */
export function keepFocusIn(root: HTMLElement): () => void {
  /** The focused element and its ancestors; for a dialog, followed by those of the element focused before it. */
  let around: readonly Element[] = [];
  let before: readonly Element[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  const onFocus = ({ target }: FocusEvent) => {
    const dialog = (target as Element).closest("dialog");
    if (dialog === null) before = [];
    else if (!around.includes(dialog)) before = around;
    around = ancestorsOf(target as Element, root);
  };
  const look = () => {
    if (around[0]?.isConnected !== false || !focusIsLost()) return;
    const left = [...before, ...around].filter((each) => each.isConnected && each.matches(named_place));
    // Nothing behind an open dialog can have the focus. The page itself comes last.
    const place = left.find((each) => each.matches("dialog")) ?? left.find((each) => !each.matches("main")) ?? left[0];
    if (!(place instanceof HTMLElement)) return;
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(() => {
    if (around[0]?.isConnected !== false) return;
    clearTimeout(timer);
    timer = setTimeout(look, settled_ms);
  });
  root.addEventListener("focusin", onFocus);
  observer.observe(root, { childList: true, subtree: true });
  return () => {
    clearTimeout(timer);
    observer.disconnect();
    root.removeEventListener("focusin", onFocus);
  };
}

function ancestorsOf(element: Element, root: Element): Element[] {
  const found: Element[] = [];
  for (let each: Element | null = element; each !== null && root.contains(each); each = each.parentElement)
    found.push(each);
  return found;
}
