import { Link, useParams } from "@tanstack/react-router";
import { PageHead } from "../parts/page-head.tsx";
import { EscalationDetail } from "../review/escalation-detail.tsx";

export function EscalationPage() {
  const { escalation_id } = useParams({ from: "/frame/escalations/$escalation_id" });
  return (
    <>
      <PageHead title="Review" about={<span className="mono small">{escalation_id}</span>}>
        <Link to="/review" className="button small">
          To the queue
        </Link>
      </PageHead>
      <EscalationDetail key={escalation_id} escalation_id={escalation_id} />
    </>
  );
}
