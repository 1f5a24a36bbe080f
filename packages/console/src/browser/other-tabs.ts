/**
 * Messages between the console's tabs in one browser, which share a session cookie. Returns null if the browser refuses
 * the channel.
 */

function opened(): BroadcastChannel | null {
  try {
    return new BroadcastChannel("countersign.session");
  } catch {
    return null;
  }
}

const channel = opened();

/** Informs every other tab of a sign-in or sign-out. */
export function tellOtherTabs(): void {
  channel?.postMessage(null);
}

/** Listens for sign-ins and sign-outs in other tabs. Returns a function to stop. */
export function onOtherTab(listener: () => void): () => void {
  channel?.addEventListener("message", listener);
  return () => channel?.removeEventListener("message", listener);
}
