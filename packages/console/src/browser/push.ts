/** Push notices of this browser. */
import type { PushDeviceInput } from "@countersign/contract";

const worker_path = "/push-worker.js";

/** Null: the browser can show push notices. Else why not, and what to do. */
export function whyNoPush(): string | null {
  if (!window.isSecureContext) return "Push notices need https. Open the console at its https address.";
  if (!("serviceWorker" in navigator) || !("PushManager" in window))
    return "This browser has no push notices here. On an iPhone, add the console to the home screen first.";
  if (Notification.permission === "denied")
    return "You have forbidden notices for this page. Allow them in the browser's settings of this page.";
  return null;
}

/** Asks the person for permission. Null: the person did not allow it. */
export async function subscribeToPush(public_key: string): Promise<PushDeviceInput | null> {
  if ((await Notification.requestPermission()) !== "granted") return null;
  const registration = await navigator.serviceWorker.register(workerAddress() as string);
  await navigator.serviceWorker.ready;
  const known = await registration.pushManager.getSubscription();
  // A subscription for another key cannot be changed.
  if (known !== null) await known.unsubscribe();
  const subscription = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: public_key,
  });
  const { endpoint, keys } = subscription.toJSON();
  if (endpoint === undefined || keys?.["p256dh"] === undefined || keys["auth"] === undefined)
    throw new Error("The browser gave an incomplete subscription.");
  return { name: browserName(navigator.userAgent), endpoint, keys: { p256dh: keys["p256dh"], auth: keys["auth"] } };
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(text: string): unknown };
}

/** The only address that the page's policy allows for a worker. */
function workerAddress(): unknown {
  const { trustedTypes } = window as { readonly trustedTypes?: Policies };
  if (trustedTypes === undefined) return worker_path;
  address ??= trustedTypes.createPolicy("push-worker", { createScriptURL: () => worker_path }).createScriptURL("");
  return address;
}

/** A policy may be created once. */
let address: unknown;

/** For example “Firefox on Linux”. */
function browserName(user_agent: string): string {
  const first = (names: readonly (readonly [RegExp, string])[], otherwise: string): string =>
    names.find(([pattern]) => pattern.test(user_agent))?.[1] ?? otherwise;
  const browser = first(
    [
      [/Edg\//, "Edge"],
      [/OPR\//, "Opera"],
      [/Firefox\//, "Firefox"],
      [/Chrome\//, "Chrome"],
      [/Safari\//, "Safari"],
    ],
    "Browser",
  );
  const system = first(
    [
      [/Android/, "Android"],
      [/iPhone|iPad/, "iOS"],
      [/Windows/, "Windows"],
      [/Mac OS X/, "macOS"],
      [/Linux/, "Linux"],
    ],
    "another system",
  );
  return `${browser} on ${system}`;
}
