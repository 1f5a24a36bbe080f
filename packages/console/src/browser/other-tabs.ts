/** Messages between tabs that share a session cookie. Null if the browser refuses the channel. */

function opened(): BroadcastChannel | null {
  try {
    return new BroadcastChannel("countersign.session");
  } catch {
    return null;
  }
}

const channel = opened();

export function tellOtherTabs(): void {
  channel?.postMessage(null);
}

/** Returns a function to stop. */
export function onOtherTab(listener: () => void): () => void {
  channel?.addEventListener("message", listener);
  return () => channel?.removeEventListener("message", listener);
}
