/**
 * Asks for a token when the API needs one, or when the user wants another one. It is kept for this
 * tab only.
 */
import { Button, Group, Modal, PasswordInput, Text } from "@mantine/core";
import { type SyntheticEvent, useState } from "react";
import { useCluster, useClusterState } from "../api/cluster.ts";
import { storedToken } from "../api/http.ts";

export function TokenPrompt() {
  const cluster = useCluster();
  const prompt = useClusterState((state) => state.tokenPrompt);
  const [token, setToken] = useState("");
  const closable = prompt === "changing";
  const refused = prompt === "refused" && storedToken() !== undefined && token === "";
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    if (token.trim() === "") return;
    cluster.acceptToken(token.trim());
    setToken("");
  };
  return (
    <Modal
      opened={prompt !== "closed"}
      onClose={() => cluster.promptForToken("closed")}
      withCloseButton={closable}
      closeOnEscape={closable}
      closeOnClickOutside={closable}
      title={closable ? "Use another token" : "This coordinator asks for a token"}
    >
      <form onSubmit={submit}>
        <Text size="sm" c="dimmed" mb="sm">
          A read token shows the cluster; an operate token may also change it. It is kept until this
          tab is closed, and sent to this coordinator only.
        </Text>
        <PasswordInput
          label="Token"
          autoComplete="off"
          data-autofocus
          value={token}
          error={refused ? "The last token was refused." : undefined}
          onChange={(event) => setToken(event.currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button type="submit">Use this token</Button>
        </Group>
      </form>
    </Modal>
  );
}

/** Shown only where tokens are in use. */
export function ChangeTokenButton() {
  const cluster = useCluster();
  const open = useClusterState((state) => state.liveLink.kind === "open");
  if (!open || storedToken() === undefined) return null;
  return (
    <button type="button" className="quiet" onClick={() => cluster.promptForToken("changing")}>
      Use another token
    </button>
  );
}
