"""What each part of the work cost the guard, a login and the start: revisions measured in turns."""
