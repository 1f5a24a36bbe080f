import type { Policy } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useClient, useMay } from "../api/session.tsx";
import { SelectField } from "../parts/forms/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Badge, EffectBadge } from "../parts/records/badge.tsx";
import { Empty } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { Time } from "../parts/time.tsx";
import { Fired } from "../policies/fired.tsx";
import { useFilters } from "../shell/filters.ts";

export const policyTones: Record<Policy["status"], string> = {
  draft: "plain",
  shadow: "shadow",
  live: "live",
  retired: "plain",
};

export function PoliciesPage() {
  const client = useClient();
  const may = useMay("admin");
  const [filters, setFilters] = useFilters(["status"]);
  const status = filters.status as Policy["status"] | undefined;
  const list = usePaged(["policies", "list", status], async (cursor) => {
    const page = await client.listPolicies({
      ...(status === undefined ? {} : { status }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    return { rows: page.policies, next_cursor: page.next_cursor };
  });
  return (
    <>
      <PageHead title="Policies" about="Your own rules, in addition to the packs.">
        {may && (
          <Link to="/policies/new" className="button primary">
            Write a policy
          </Link>
        )}
      </PageHead>
      <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <SelectField
          label="State"
          value={status ?? ""}
          onChange={(event) => setFilters({ status: event.target.value })}
          options={[
            ["", "All"],
            ["live", "Live"],
            ["shadow", "Shadow"],
            ["draft", "Draft"],
            ["retired", "Retired"],
          ]}
        />
      </form>
      <section className="card" aria-label="Policies">
        <Paged
          list={list}
          what="policies"
          empty={
            <Empty title="No policies here">
              <p>The packs already decide. Write a policy for rules of your organization.</p>
              <Link to="/packs">See the packs</Link>
            </Empty>
          }
        >
          {(rows) => (
            <ListTable heads={["Policy", "State", "Effect", "Version", "Changed", "Fired in 7 days"]} numbers={1}>
              {rows.map((policy) => (
                <Row key={policy.policy_id} policy={policy} />
              ))}
            </ListTable>
          )}
        </Paged>
      </section>
    </>
  );
}

function Row({ policy }: { readonly policy: Policy }) {
  const spec = policy.document["spec"] as { readonly effect?: unknown } | undefined;
  const effect = typeof spec?.effect === "string" ? spec.effect : "–";
  return (
    <tr>
      <td>
        <Link to="/policies/$policy_id" params={{ policy_id: policy.policy_id }}>
          <Data text={policy.title ?? policy.name} />
        </Link>
        {policy.title !== null && (
          <span className="mono small muted">
            {" "}
            <Data text={policy.name} />
          </span>
        )}
        {policy.nobody_can_decide !== undefined && <p className="small">{policy.nobody_can_decide}</p>}
      </td>
      <td>
        <Badge text={policy.status} tone={policyTones[policy.status]} />
      </td>
      <td>
        <EffectBadge effect={effect} />
      </td>
      <td>
        {policy.version}
        {policy.active_version !== null && policy.active_version !== policy.version && (
          <span className="small muted">{` (in force: ${policy.active_version})`}</span>
        )}
      </td>
      <td>
        <Time at={policy.updated_at} />
      </td>
      <td className="num">
        <Fired rule={policy.name} />
      </td>
    </tr>
  );
}
