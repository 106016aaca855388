/** Asks for a token when the API wants one. It is kept for this tab only. */
import { Button, Group, Modal, PasswordInput, Text } from "@mantine/core";
import { type SyntheticEvent, useState } from "react";
import { useCluster, useClusterState } from "../api/cluster.ts";
import { storedToken } from "../api/http.ts";

export function TokenPrompt() {
  const cluster = useCluster();
  const wanted = useClusterState((state) => state.tokenWanted);
  const [token, setToken] = useState("");
  const refused = wanted && storedToken() !== undefined;
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    if (token.trim() === "") return;
    cluster.acceptToken(token.trim());
    setToken("");
  };
  return (
    <Modal
      opened={wanted}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      title="This coordinator asks for a token"
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
          error={refused && token === "" ? "The last token was refused." : undefined}
          onChange={(event) => setToken(event.currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button type="submit">Use this token</Button>
        </Group>
      </form>
    </Modal>
  );
}
