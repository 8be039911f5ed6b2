"""What results say: tables, figures and statistics over the trials of a sweep, all of it made from the store."""
