import { type EventType, eventTypeNames } from "@countersign/contract";
import { clipText, Fault, type FaultDetail } from "@countersign/core";

// A set, because a look-up in an object would find "constructor".
const names: ReadonlySet<string> = new Set(eventTypeNames);

/**
 * Returns the unique names; without input, all. Reports a refused URL together with unknown names. Faults:
 * unknown_event_type. Source: spec §4.
 */
export function subscribedTypes(wanted: readonly string[] | undefined, url: UrlVerdict | undefined): EventType[] {
  if (wanted === undefined) return [...eventTypeNames];
  const details: FaultDetail[] = wanted.flatMap((name, index) =>
    names.has(name)
      ? []
      : [
          {
            path: `/event_types/${index}`,
            code: "not_allowed",
            message: `There is no event type ${JSON.stringify(clipText(name, 64))}.`,
          },
        ],
  );
  if (details.length > 0) {
    if (url !== undefined && "refused" in url) details.push(refusalOf(url));
    throw new Fault("unknown_event_type", { details });
  }
  return [...new Set(wanted as readonly EventType[])];
}

type UrlVerdict = { readonly href: string } | { readonly refused: string };

/** Returns the normalized URL to store. Faults: webhook_url_refused. */
export async function acceptedUrl(httpOut: { check(url: string): Promise<UrlVerdict> }, url: string): Promise<string> {
  return hrefOf(await httpOut.check(url));
}

export function hrefOf(verdict: UrlVerdict): string {
  if ("href" in verdict) return verdict.href;
  throw new Fault("webhook_url_refused", { details: [refusalOf(verdict)] });
}

function refusalOf({ refused }: { readonly refused: string }): FaultDetail {
  return { path: "/url", code: "not_allowed", message: refused };
}
