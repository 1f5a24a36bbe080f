import type { IntentRecord } from "@countersign/contract";
import { moneyText } from "../../parts/money.ts";
import { isObject } from "../../parts/records/json-lines.ts";
import { Data } from "../../parts/tables/data.tsx";

type Priced = Pick<IntentRecord, "estimated_impact" | "payload">;

/** Returns the parameters with an amount: their names end with `_usd`. */
function pricesOf({ payload }: Priced): [name: string, usd: number][] {
  const content: unknown = payload?.content;
  if (!isObject(content)) return [];
  return Object.entries(content).flatMap(([name, value]): [string, number][] =>
    name.toLowerCase().endsWith("_usd") && typeof value === "number" ? [[name, value]] : [],
  );
}

/** Shows the agent's own figure beside those of the parameters, where they differ. */
export function AmountsThatDiffer({ intent }: { readonly intent: Priced }) {
  const stated = intent.estimated_impact?.financial_exposure_usd;
  const prices = pricesOf(intent);
  if (stated === undefined || prices.length === 0 || prices.some(([, usd]) => usd === stated)) return null;
  return (
    <div className="banner warn">
      <div>
        <strong>The agent states another amount than the action has</strong>
        <dl className="amounts">
          <div>
            <dt>The agent states</dt>
            <dd>{moneyText(stated)}</dd>
          </div>
          {prices.map(([name, usd]) => (
            <div key={name}>
              <dt>
                {"Parameter "}
                <Data text={name} chars_max={60} more={false} />
              </dt>
              <dd>{moneyText(usd)}</dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}
