/** A model of OpenAI, which needs OPENAI_API_KEY. */
import type { Model } from "@openai/agents";

export const model: string | Model = "gpt-5";
