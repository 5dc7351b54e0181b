"""What turns texts into vectors, and how a store keeps to one of them."""
