! fortran FILE NX NY NT: direct access, a record one plane, last plane first; then the same through a stream. Prints sums.
program fortran
  implicit none
  character(len=4096) :: file, word
  integer :: nx, ny, nt, t, unit
  real(4), allocatable :: plane(:, :), again(:, :)
  real(8) :: total, streamed
  call get_command_argument(1, file)
  call get_command_argument(2, word); read (word, *) nx
  call get_command_argument(3, word); read (word, *) ny
  call get_command_argument(4, word); read (word, *) nt
  allocate (plane(nx, ny), again(nx, ny))
  total = 0
  open (newunit=unit, file=trim(file), form='unformatted', access='direct', recl=4*nx*ny, action='read', status='old')
  do t = nt, 1, -1
    read (unit, rec=t) plane
    total = total + sum(real(plane, 8))*t
  end do
  close (unit)
  streamed = 0
  open (newunit=unit, file=trim(file), form='unformatted', access='stream', action='read', status='old')
  do t = 1, nt
    read (unit) again
    streamed = streamed + sum(real(again, 8))*t
  end do
  read (unit, pos=1 + 4*nx*ny*(nt/2)) again
  close (unit)
  if (any(again /= again) .or. total /= streamed) stop 1
  print '(f0.1)', total
end program
