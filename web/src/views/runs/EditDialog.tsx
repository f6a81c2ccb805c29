import { useState } from "preact/hooks";
import { tell, type Json } from "../../asking";
import { Button } from "../../pieces/Button";
import { Dialog } from "../../pieces/Dialog";
import { bytes } from "../../pieces/numbers";
import { Problem } from "../../states";
import type { Listed } from "./rows";

interface Props {
  run: Listed;
  onClose: () => void;
  /** After something was changed, or the run was deleted. */
  onDone: (deleted: boolean) => void;
}

/** A run's name, tags and note, which stay on this machine, and its deletion, which must be typed. */
export function EditDialog({ run, onClose, onDone }: Props) {
  const [error, setError] = useState<string | null>(null);
  const [left, setLeft] = useState<string[]>([]);
  const edit = async (change: { [key: string]: Json }) => {
    try {
      const answer = await tell<{ deleted?: boolean; left?: string[] }>("edits", { run: run.name, ...change });
      if (answer.left?.length) setLeft(answer.left);
      else onDone(answer.deleted ?? false);
    } catch (fault) {
      setError((fault as Error).message);
    }
  };
  if (left.length) return <Deleted run={run.name} left={left} onClose={() => onDone(true)} />;
  return (
    <Dialog title={`Edit ${run.name}`} onClose={onClose}>
      {error ? <Problem text={error} /> : null}
      <Labels run={run} onSave={edit} />
      <Deletion run={run} onDelete={() => edit({ delete: true, confirm: run.name })} />
    </Dialog>
  );
}

function Deleted({ run, left, onClose }: { run: string; left: readonly string[]; onClose: () => void }) {
  return (
    <Dialog title="Deleted" onClose={onClose}>
      <p>The log of {run} is deleted. Its folder stays, with files that are not torch-debugger's: {left.slice(0, 10).join(", ")}{left.length > 10 ? ", …" : ""}.</p>
    </Dialog>
  );
}

function Labels({ run, onSave }: { run: Listed; onSave: (change: { [key: string]: Json }) => Promise<void> }) {
  const [name, setName] = useState(run.label.name ?? "");
  const [tags, setTags] = useState((run.label.tags ?? []).join(", "));
  const [note, setNote] = useState(run.label.note ?? "");
  const save = async (event: Event) => {
    event.preventDefault();
    await onSave({ name: name.trim(), tags: tagsIn(tags), note });
  };
  return (
    <form class="runs-edit" onSubmit={(event) => void save(event)}>
      <p class="quiet">Kept on this machine, beside the runs. The log is not touched.</p>
      <label>
        Name shown in the table
        <input data-first="" value={name} placeholder={run.name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <label>
        Tags, separated by commas
        <input value={tags} onInput={(event) => setTags(event.currentTarget.value)} />
      </label>
      <label>
        Note
        <textarea rows={3} value={note} onInput={(event) => setNote(event.currentTarget.value)} />
      </label>
      <button class="button" type="submit">
        Save
      </button>
    </form>
  );
}

export function tagsIn(text: string): string[] {
  return [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))];
}

function Deletion({ run, onDelete }: { run: Listed; onDelete: () => void }) {
  const [typed, setTyped] = useState("");
  return (
    <div class="runs-edit runs-deletion">
      <h3>Delete this run</h3>
      <p>
        Its log, {bytes(run.size_bytes)}, and what torch-debugger wrote beside it are deleted from the disk. This cannot be undone. Files of others in its folder stay. Type its name, <code>{run.name}</code>, to confirm.
      </p>
      <label>
        Name of the run to delete
        <input value={typed} autocomplete="off" onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      <Button onClick={onDelete} disabled={typed !== run.name}>
        Delete from disk
      </Button>
    </div>
  );
}
