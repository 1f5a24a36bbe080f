/** A model of OpenAI through Mastra's router, which needs OPENAI_API_KEY. */
import type { MastraModelConfig } from "@mastra/core/llm";

export const model: MastraModelConfig = "openai/gpt-5";
