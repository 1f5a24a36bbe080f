/** Word between the console's tabs in one browser: they share the cookie of a session. A browser may refuse the channel: then none is given. */

function opened(): BroadcastChannel | null {
  try {
    return new BroadcastChannel("countersign.session");
  } catch {
    return null;
  }
}

const channel = opened();

/** Tells every other tab that somebody signed in or out. */
export function tellOtherTabs(): void {
  channel?.postMessage(null);
}

/** Hears when somebody signed in or out in another tab; gives the way to stop. */
export function onOtherTab(listener: () => void): () => void {
  channel?.addEventListener("message", listener);
  return () => channel?.removeEventListener("message", listener);
}
