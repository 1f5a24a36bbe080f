import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useClient } from "../api/session.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { Loaded } from "../parts/states.tsx";
import { Versions } from "../policies/versions.tsx";
import { policyTones } from "./policies.tsx";
import { Editor } from "./policy/editor.tsx";
import { InForce } from "./policy/in-force.tsx";

export function NewPolicyPage() {
  return (
    <>
      <PageHead title="Write a policy" about="YAML with conditions in CEL. It is checked while you write." />
      <Editor policy={null} />
    </>
  );
}

export function PolicyPage() {
  const { policy_id } = useParams({ from: "/frame/policies/$policy_id" });
  const client = useClient();
  const query = useQuery({ queryKey: ["policies", "one", policy_id], queryFn: () => client.getPolicy(policy_id) });
  return (
    <>
      {query.data === undefined && <PageHead title="Policy" about={<span className="mono small">{policy_id}</span>} />}
      <Loaded query={query} what="the policy">
        {(policy) => (
          <>
            <PageHead title={policy.title ?? policy.name} about={<span className="mono small">{policy.name}</span>}>
              <Badge text={policy.status} tone={policyTones[policy.status]} />
              <span className="small muted">{`version ${policy.version}`}</span>
            </PageHead>
            <InForce policy={policy} />
            <Editor key={policy_id} policy={policy} />
            <Versions policy={policy} />
          </>
        )}
      </Loaded>
    </>
  );
}
