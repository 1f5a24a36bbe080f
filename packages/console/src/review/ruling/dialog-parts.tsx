import type { Escalation } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { adviceOn } from "../../api/advice.ts";
import { CaseLine, Ending } from "../case.tsx";

export function Wrong({ error }: { readonly error: unknown }) {
  const { title, todo } = adviceOn(error);
  const rules =
    error instanceof ApiError
      ? error.details.flatMap((each) => (typeof each["policy"] === "string" ? [each["policy"]] : []))
      : [];
  return (
    <div className="banner bad" role="alert">
      <div>
        <strong>{title}</strong>
        {todo}
        {rules.length > 0 && ` Rules: ${rules.join(", ")}.`}
      </div>
    </div>
  );
}

export function NeverShown({ chars }: { readonly chars: number }) {
  return (
    <div className="banner warn" role="status">
      <div>
        <strong>
          {chars === 1
            ? "1 character of this case was never on your screen"
            : `${chars.toLocaleString("en")} characters of this case were never on your screen`}
        </strong>
        Cancel, and expand the cut texts to see everything that you approve.
      </div>
    </div>
  );
}

export function CaseOf({ escalation }: { readonly escalation: Escalation }) {
  return (
    <>
      <p>
        <CaseLine escalation={escalation} />
      </p>
      <Ending escalation={escalation} meanwhile />
    </>
  );
}
