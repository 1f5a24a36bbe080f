import type { Overview } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useMay } from "../../api/session.tsx";
import { warningTexts } from "../../parts/key-warning-texts.ts";
import { Data } from "../../parts/tables/data.tsx";

const named_max = 5;

/** Entries of the list of what needs attention, one for each key with a warning. */
export function KeyWarnings({ keys }: Pick<Overview, "keys">) {
  const may = useMay("admin");
  const more = keys.length - named_max;
  return (
    <>
      {keys.slice(0, named_max).map(({ key_id, name, warnings }) => (
        <li key={key_id}>
          <span className="dot escalate" aria-hidden="true" />
          <span className="grow">
            {"API key "}
            <Data text={name ?? key_id} />
            {`: ${warnings.map((warning) => warningTexts[warning]).join("; ")}`}
          </span>
          <span className="row small">{may ? <Link to="/keys">See the keys</Link> : "Tell an admin."}</span>
        </li>
      ))}
      {more > 0 && <li>{`${more} more API keys need attention.`}</li>}
    </>
  );
}
