/** Where the keyboard is, which is what a screen reader reads. */

/** Whether what had the focus is gone: a screen reader would begin again at the top of the page. */
export function focusIsLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

/** Places that have a name, so a screen reader says where it is. */
const named_place = "dialog[open], article, section[aria-label], main";

/** Longer than it takes a page to move the focus itself after what it changed. */
const settled_ms = 50;

/**
 * While it runs, a row that goes with the button that was pressed in it takes nobody back to the top of the page: the focus
 * goes to the nearest place around it that is left. Gives the way to stop.
 */
export function keepFocusIn(root: HTMLElement): () => void {
  /** What has the focus, or had it last, with what is around it; of a dialog, then what had it before the dialog. */
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
    // Behind an open dialog nothing can have the focus; the page itself is the farthest.
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
