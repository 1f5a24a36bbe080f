/** How often rules fired in the last 7 days. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient } from "../api/session.tsx";

function useFired() {
  const client = useClient();
  return useQuery({ queryKey: ["policies", "fired"], queryFn: () => client.getFiredRules(), staleTime: 30_000 });
}

/** The count of one rule, as a link to the decisions behind it. */
export function Fired({ rule, words = false }: { readonly rule: string; readonly words?: boolean }) {
  const { data } = useFired();
  if (data === undefined) return null;
  const count = data.rules.reduce((sum, each) => (each.policy === rule ? sum + each.count : sum), 0);
  const times = count.toLocaleString("en");
  const text = words ? `It fired ${times} ${count === 1 ? "time" : "times"} in 7 days.` : times;
  if (!data.complete) return <span className="muted">counting …</span>;
  if (count === 0) return <span className="muted">{text}</span>;
  return (
    <Link to="/decisions" search={{ rule, from: data.from, to: data.to } as never}>
      {text}
    </Link>
  );
}
