/**
 * Returns the component of each node. Nodes in one component reach each other. `edges[node]` lists the targets. Linear
 * time, no recursion. Source: Kosaraju's algorithm, as in Aho, Hopcroft and Ullman, Data Structures and Algorithms
 * (1983), section 6.7.
 */
export function strongComponents(edges: readonly (readonly number[])[]): number[] {
  const backwards: number[][] = edges.map(() => []);
  for (const [from, targets] of edges.entries()) for (const to of targets) backwards[to]?.push(from);

  const components: number[] = edges.map(() => -1);
  let count = 0;
  for (const start of finished(edges).reverse()) {
    if (components[start] !== -1) continue;
    const pending = [start];
    components[start] = count;
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      for (const next of backwards[at] ?? []) {
        if (components[next] !== -1) continue;
        components[next] = count;
        pending.push(next);
      }
    }
    count += 1;
  }
  return components;
}

/** Returns nodes in depth-first finishing order. */
function finished(edges: readonly (readonly number[])[]): number[] {
  const done: number[] = [];
  const seen = new Set<number>();
  for (const start of edges.keys()) {
    const path: { readonly at: number; next: number }[] = [];
    const enter = (at: number) => {
      if (seen.has(at)) return;
      seen.add(at);
      path.push({ at, next: 0 });
    };
    enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const target = edges[top.at]?.[top.next];
      top.next += 1;
      if (target !== undefined) enter(target);
      else {
        done.push(top.at);
        path.pop();
      }
    }
  }
  return done;
}
