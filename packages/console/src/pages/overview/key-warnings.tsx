import type { Overview } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useMay } from "../../api/session.tsx";
import { warningTexts } from "../../parts/key-warning-texts.ts";
import { Data } from "../../parts/tables/data.tsx";

const named_max = 5;

export function KeyWarnings({ keys }: Pick<Overview, "keys">) {
  const may = useMay("admin");
  if (keys.length === 0) return null;
  const more = keys.length - named_max;
  return (
    <section className="banner warn" aria-label="API keys">
      <div>
        <strong>API keys need attention</strong>
        {keys.slice(0, named_max).map(({ key_id, name, warnings }) => (
          <div key={key_id}>
            <Data text={name ?? key_id} />
            {`: ${warnings.map((warning) => warningTexts[warning]).join("; ")}`}
          </div>
        ))}
        {more > 0 && <div>{`${more} more`}</div>}
        {may ? <Link to="/keys">See the keys</Link> : "Tell an admin."}
      </div>
    </section>
  );
}
