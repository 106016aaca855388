/** A command line to copy. */
import { ActionIcon, CopyButton } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

export function Command({ text }: { readonly text: string }) {
  return (
    <span className="command">
      <code className="mono truncate">{text}</code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-label={copied ? "Copied" : `Copy: ${text}`}
            onClick={copy}
          >
            {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          </ActionIcon>
        )}
      </CopyButton>
    </span>
  );
}
