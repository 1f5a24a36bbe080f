import { type EventType, eventTypeNames } from "@countersign/contract";
import { clipText, Fault, type FaultDetail } from "@countersign/core";

// A set of names, not a look into the table: "constructor" is in every object.
const names: ReadonlySet<string> = new Set(eventTypeNames);

/**
 * The names without repetitions; all of them when none are given. A URL that is refused is told beside unknown ones.
 * Faults: unknown_event_type. Source: contract §4.
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

/** What the guard says of a URL. */
type UrlVerdict = { readonly href: string } | { readonly refused: string };

/** The URL in the one spelling to store. Faults: webhook_url_refused. */
export async function acceptedUrl(httpOut: { check(url: string): Promise<UrlVerdict> }, url: string): Promise<string> {
  return hrefOf(await httpOut.check(url));
}

/** As `acceptedUrl`, where the guard was asked before. */
export function hrefOf(verdict: UrlVerdict): string {
  if ("href" in verdict) return verdict.href;
  throw new Fault("webhook_url_refused", { details: [refusalOf(verdict)] });
}

function refusalOf({ refused }: { readonly refused: string }): FaultDetail {
  return { path: "/url", code: "not_allowed", message: refused };
}
