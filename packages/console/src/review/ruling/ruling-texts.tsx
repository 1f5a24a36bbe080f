import { limits } from "@countersign/contract";
import { TextArea } from "../../parts/forms/field.tsx";

export function RulingTexts({
  each = false,
  autoFocus = false,
  comment,
  message,
  onComment,
  onMessage,
}: {
  /** The texts go with each of several rulings. */
  readonly each?: boolean;
  readonly autoFocus?: boolean;
  readonly comment: string;
  readonly message: string;
  readonly onComment: (text: string) => void;
  readonly onMessage: (text: string) => void;
}) {
  return (
    <>
      <TextArea
        label={each ? "Comment on each, for people" : "Comment for people"}
        hint="The audit trail keeps it. The agent does not get it."
        maxLength={limits.comment_chars_max}
        value={comment}
        onChange={(event) => onComment(event.target.value)}
        autoFocus={autoFocus}
      />
      <TextArea
        label={each ? "Message to the agent of each" : "Message to the agent"}
        hint="The agent’s language model reads it, together with the decision. The audit trail keeps it, too."
        maxLength={limits.comment_chars_max}
        value={message}
        onChange={(event) => onMessage(event.target.value)}
      />
    </>
  );
}
