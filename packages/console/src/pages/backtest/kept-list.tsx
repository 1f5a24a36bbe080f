import type { ListedBacktest } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useClient } from "../../api/session.tsx";
import { Who } from "../../parts/records/who.tsx";
import { Empty } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { agreementText, candidateText } from "./words.ts";

/** The backtests of the organization that have an address. */
export function KeptList() {
  const client = useClient();
  const list = usePaged(["backtests", "list"], async (cursor) => {
    const page = await client.listBacktests(cursor === undefined ? {} : { cursor });
    return { rows: page.backtests, next_cursor: page.next_cursor };
  });
  return (
    <section className="card stack tight" aria-label="Backtests">
      <h2>Backtests that were run</h2>
      <Paged
        list={list}
        what="backtests"
        empty={
          <Empty title="No backtest yet">
            <p>
              Choose policies, packs or thresholds to see which recorded verdicts they would change. Or run the check:
              as recorded, every verdict must be reproduced.
            </p>
          </Empty>
        }
      >
        {(rows) => (
          <ListTable
            heads={["When", "Tried", "By", "Agrees with reviewers", "Decided again", "Changed"]}
            numbers={2}
            opens
          >
            {rows.map((each) => (
              <Row key={each.backtest_id} backtest={each} />
            ))}
          </ListTable>
        )}
      </Paged>
    </section>
  );
}

function Row({ backtest }: { readonly backtest: ListedBacktest }) {
  const { backtest_id, created_at, created_by, candidate, evaluated, flips_total } = backtest;
  return (
    <tr>
      <td>
        <Link to="/backtests/$backtest_id" params={{ backtest_id }}>
          <Time at={created_at} />
        </Link>
      </td>
      <td>
        <Data text={candidateText(candidate)} chars_max={200} more={false} />
      </td>
      <td>
        <Who id={created_by} />
      </td>
      <td className="small">{agreementText(backtest.agrees_with_reviewers)}</td>
      <td className="num">{evaluated.toLocaleString("en")}</td>
      <td className="num">{flips_total.toLocaleString("en")}</td>
    </tr>
  );
}
